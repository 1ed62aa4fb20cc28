//! Rows of the tables.

use super::{Form, Head, Spec, Status};

pub(super) const fn used(keyword: &'static str, head: Head, form: Form) -> Spec {
    Spec { keyword, head, form, status: Status::Used }
}

pub(super) const fn bare(keyword: &'static str, form: Form) -> Spec {
    used(keyword, Head::Bare, form)
}

pub(super) const fn flag(keyword: &'static str) -> Spec {
    bare(keyword, Form::Flag)
}

pub(super) const fn ignored(
    keyword: &'static str,
    head: Head,
    form: Form,
    why: &'static str,
) -> Spec {
    Spec { keyword, head, form, status: Status::Ignored(why) }
}

pub(super) const fn refused(
    keyword: &'static str,
    head: Head,
    form: Form,
    why: &'static str,
) -> Spec {
    Spec { keyword, head, form, status: Status::Refused(why) }
}
