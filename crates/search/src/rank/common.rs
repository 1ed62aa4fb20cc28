//! What phases and features of a profile have in common becomes values of their own, which are kept for all of them.

use std::collections::HashMap;

use stead_app::application::rank::CompiledProfile;
use stead_expr::{Compiled, share};

/// The profile with phases and features that take common numbers by name, and these numbers.
pub(super) fn common(profile: &CompiledProfile) -> (CompiledProfile, HashMap<String, Compiled>) {
    let mut profile = profile.clone();
    // A function is known to Vespa by this name too.
    let named: Vec<(String, Compiled)> = profile
        .functions
        .iter()
        .map(|f| (format!("rankingExpression({})", f.name), f.compiled.clone()))
        .collect();
    let named: Vec<(String, &Compiled)> = named.iter().map(|(n, c)| (n.clone(), c)).collect();
    let mut places: Vec<&mut Compiled> = Vec::new();
    places.extend(&mut profile.first_phase);
    places.extend(&mut profile.second_phase);
    places.extend(&mut profile.global_phase);
    let features = profile.match_features.iter_mut().chain(&mut profile.summary_features);
    places.extend(features.map(|f| &mut f.compiled));
    let expressions: Vec<&Compiled> = places.iter().map(|c| &**c).collect();
    let shared = share(&expressions, &named);
    for (place, expression) in places.into_iter().zip(shared.expressions) {
        *place = expression;
    }
    (profile, shared.common.into_iter().collect())
}
