//! Running one request or one batch.

use super::{Job, Scheduler, Times};
use crate::admission::{Line, Place};
use crate::evaluate::{EvaluateError, Run};
use crate::{Code, Error, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use stead_engine::StepRun;
use stead_tensor::{Tensor, TensorView};

impl Scheduler {
    /// Runs a batch and answers each of its requests once.
    pub(super) fn run_batch(&self, batch: Vec<Job>) {
        let now = Instant::now();
        let mut jobs = Vec::with_capacity(batch.len());
        for job in batch {
            if job.reply.is_closed() {
                let gone = self.explain(EvaluateError::Cancelled, false, "waiting");
                job.reply.send(Err(gone));
                continue;
            }
            if job.is_late() {
                let error = self.explain(EvaluateError::Cancelled, true, "waiting");
                job.reply.send(Err(error));
                continue;
            }
            jobs.push(job);
        }
        self.recorder.waited(jobs.iter().map(|job| now.saturating_duration_since(job.queued)));
        let mut places: Vec<Place> = jobs.iter_mut().filter_map(|job| job.place.take()).collect();
        places.iter_mut().for_each(Place::begin);
        let mut gave_up = false;
        // What is traced runs alone: the steps of a joined run are not those of one request.
        let mut traced: Vec<Job> = jobs.extract_if(.., |job| job.trace.is_some()).collect();
        if jobs.len() <= 1 || !self.run_joined(&mut jobs) {
            traced.append(&mut jobs);
        }
        for job in traced {
            gave_up |= self.run_job(job);
        }
        Line::ran(&places, now, Instant::now(), gave_up);
    }

    /// Runs one request and answers it. Tells whether it was given up.
    fn run_job(&self, job: Job) -> bool {
        let team = Some(self.pool.team(self.limits.threads));
        let cancelled = || job.is_abandoned();
        let noted = job.trace.as_deref().map(|trace| move |step: StepRun<'_>| trace.note(&step));
        let profile = noted.as_ref().map(|noted| noted as &(dyn Fn(StepRun<'_>) + Sync));
        let run =
            Run { team, cancelled: &cancelled, within: None, deadline: job.deadline, profile };
        let began = Instant::now();
        let answer = self
            .run_one(&job.inputs, &job.wanted, job.rows, &run)
            .map_err(|e| self.explain(e, job.is_late(), "running"));
        job.trace.iter().for_each(|trace| trace.ran(began));
        let given_up = [Code::DeadlineExceeded, Code::Cancelled];
        let gave_up = answer.as_ref().is_err_and(|error| given_up.contains(&error.code));
        job.reply.send(answer);
        if !self.limits.growing.is_empty() {
            // The client reads its answer meanwhile; a step that comes at once would have to wait for its plan anyway.
            self.evaluate.plan_ahead();
        }
        gave_up
    }

    /// Runs one request.
    pub(super) fn run_one(
        &self,
        inputs: &[Option<Tensor>],
        wanted: &[usize],
        rows: usize,
        run: &Run<'_>,
    ) -> Result<Vec<Tensor>, EvaluateError> {
        if !self.limits.growing.is_empty() {
            let started = Instant::now();
            let growing = &self.limits.growing;
            let outputs =
                self.caught(run, || self.evaluate.run_growing(inputs, growing, wanted, run))?;
            self.recorder.ran(
                rows as u64,
                1,
                Times { infer: started.elapsed(), ..Times::default() },
            );
            return Ok(outputs);
        }
        let views: Vec<_> = inputs.iter().map(|t| t.as_ref().map(Tensor::view)).collect();
        let mut outputs = Vec::with_capacity(wanted.len());
        let times = self.evaluated(&views, wanted, run, &mut |_, view| {
            outputs.push(view.to_tensor().map_err(|e| EvaluateError::Memory(e.to_string()))?);
            Ok(())
        })?;
        self.recorder.ran(rows as u64, 1, times);
        Ok(outputs)
    }

    /// Runs several requests at once. `false` when they must be tried singly: one of them may be at fault, and
    /// the others must not suffer for it.
    fn run_joined(&self, jobs: &mut Vec<Job>) -> bool {
        let Some(batching) = self.batching() else { return false };
        let started = Instant::now();
        let parts: Vec<&[Option<Tensor>]> = jobs.iter().map(|j| &*j.inputs).collect();
        let Ok(inputs) = batching.gather(&parts) else { return false };
        let gather = started.elapsed();
        let mut wanted: Vec<usize> = jobs.iter().flat_map(|j| j.wanted.iter().copied()).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let rows: Vec<usize> = jobs.iter().map(|j| j.rows).collect();
        let views: Vec<_> = inputs.iter().map(|t| t.as_ref().map(Tensor::view)).collect();
        let mut columns: Vec<Vec<Tensor>> = Vec::with_capacity(wanted.len());
        let mut unsplit = false;
        let abandoned = || jobs.iter().all(Job::is_abandoned);
        let team = Some(self.pool.team(self.limits.threads));
        // Whoever waits longest decides, if anybody waits for ever nobody does.
        let deadline = jobs.iter().map(|job| job.deadline).max_by_key(|d| (d.is_none(), *d));
        let deadline = deadline.flatten();
        let run = Run { team, cancelled: &abandoned, within: None, deadline, profile: None };
        let ran = self.evaluated(&views, &wanted, &run, &mut |place, view| {
            let output = wanted.get(place).copied().unwrap_or(usize::MAX);
            let Some(parts) = batching.scatter(output, view, &rows) else {
                unsplit = true;
                return Err(EvaluateError::Failed("an output has no batch axis".to_owned()));
            };
            columns.push(parts.map_err(|e| EvaluateError::Memory(e.to_string()))?);
            Ok(())
        });
        if unsplit && !self.unbatchable.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                model = self.model,
                "an output does not have the rows of its batch: requests are no longer joined"
            );
        }
        let Ok(mut times) = ran else { return false };
        times.gather += gather;
        self.recorder.ran(rows.iter().sum::<usize>() as u64, jobs.len() as u64, times);
        let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
        for job in jobs.drain(..) {
            // One part of each column belongs to this request, wanted or not.
            let row: Vec<Option<Tensor>> = columns.iter_mut().map(Iterator::next).collect();
            let pick = |output: &usize| {
                let place = wanted.binary_search(output).ok()?;
                row.get(place)?.clone()
            };
            let outputs: Option<Vec<Tensor>> = job.wanted.iter().map(pick).collect();
            let lost = || EvaluateError::Failed("an output is missing".to_owned());
            let answer = outputs.ok_or_else(|| self.explain(lost(), false, "running"));
            job.reply.send(answer);
        }
        true
    }

    /// Evaluates.
    fn evaluated(
        &self,
        inputs: &[Option<TensorView<'_>>],
        wanted: &[usize],
        run: &Run<'_>,
        sink: &mut crate::evaluate::Sink<'_>,
    ) -> Result<Times, EvaluateError> {
        let started = Instant::now();
        // Outputs are shown one after the other when the run is over.
        let mut first_output = None;
        self.caught(run, || {
            self.evaluate.run(inputs, wanted, run, &mut |place, view| {
                first_output.get_or_insert_with(Instant::now);
                sink(place, view)
            })
        })?;
        let ended = Instant::now();
        let infer = first_output.unwrap_or(ended).saturating_duration_since(started);
        let scatter = ended.saturating_duration_since(started).saturating_sub(infer);
        Ok(Times { gather: Duration::ZERO, infer, scatter })
    }

    /// Evaluates if that is still wanted, and turns a panic into an error.
    fn caught<T>(
        &self,
        run: &Run<'_>,
        evaluate: impl FnOnce() -> Result<T, EvaluateError>,
    ) -> Result<T, EvaluateError> {
        if (run.cancelled)() {
            return Err(EvaluateError::Cancelled);
        }
        catch_unwind(AssertUnwindSafe(evaluate)).unwrap_or_else(|_| {
            tracing::error!(model = self.model, "evaluation panicked");
            Err(EvaluateError::Failed("internal error".to_owned()))
        })
    }

    /// The error that a client gets.
    pub(super) fn explain(&self, error: EvaluateError, late: bool, stage: &'static str) -> Error {
        let model = self.model.clone();
        let with = |code, text| Error { code, kind: ErrorKind::Evaluation { model, text } };
        match error {
            EvaluateError::Cancelled if late => {
                let model = self.model.clone();
                ErrorKind::DeadlineExceeded { model, stage }.into()
            }
            EvaluateError::Cancelled => ErrorKind::Cancelled { model: self.model.clone() }.into(),
            EvaluateError::NotQuick => with(Code::Internal, "the run was not quick".to_owned()),
            EvaluateError::Input(text) => with(Code::InvalidArgument, text),
            EvaluateError::Memory(text) => with(Code::ResourceExhausted, text),
            EvaluateError::Late(text) => with(Code::DeadlineExceeded, text),
            EvaluateError::Busy(text) => with(Code::Overloaded, text),
            EvaluateError::Failed(text) => with(Code::Internal, text),
        }
    }
}
