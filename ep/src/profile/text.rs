use std::fmt::Write;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::recorder::Event;
use super::{Batch, Slice};
use crate::plan::Program;

/// What a step is called.
pub(crate) struct StepText {
    name: String,
    args: Map<String, Value>,
    /// Both as members of a JSON object.
    json: String,
}

/// The texts of the steps of `program`.
pub(super) fn describe(program: &Program) -> Arc<[StepText]> {
    let text = |step: &kernels::tape::Step| {
        let label = program.labels.get(step.label);
        // Steps behind the last node copy results to where the caller wants them.
        let (name, op) = label.map_or(("output", "Identity"), |label| (&label.node, &label.op));
        let args = json!({"op": op, "kernel": step.driver.to_string()});
        let json = format!(r#""name":{},"args":{args}"#, Value::from(name));
        StepText { name: name.to_owned(), args: args.as_object().cloned().unwrap_or_default(), json }
    };
    program.tape.steps().iter().map(text).collect()
}

impl Batch {
    fn step(&self, event: &Event) -> Option<&StepText> {
        let (_, steps) = self.steps.iter().find(|(tape, _)| *tape as u64 == event.fields.tape)?;
        steps.get(usize::try_from(event.fields.index).ok()?).filter(|_| event.kind == "step")
    }

    /// The arguments of a span that is no step.
    fn args(&self, event: &Event) -> Value {
        match event.kind {
            "run" => json!({"group": self.group}),
            "rank" => json!({"rank": event.fields.rank, "tcm": event.fields.tcm}),
            _ => json!({}),
        }
    }

    /// Appends `"name": .., "args": ..` of a span.
    pub(super) fn write_text(&self, event: &Event, out: &mut String) {
        match self.step(event) {
            Some(step) => out.push_str(&step.json),
            None => {
                // Writing to a string does not fail.
                let _ = write!(out, r#""name":"{}","args":{}"#, event.kind, self.args(event));
            }
        }
    }

    pub(super) fn slices(&self) -> impl Iterator<Item = Slice> {
        self.events.iter().map(|event| {
            let &Event { kind, start, end, thread, .. } = event;
            let (name, args) = match self.step(event) {
                Some(step) => (step.name.clone(), step.args.clone()),
                None => (kind.to_owned(), self.args(event).as_object().cloned().unwrap_or_default()),
            };
            Slice { name, kind, args, start, end, thread }
        })
    }
}
