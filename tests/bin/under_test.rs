//! The real application, with crash points and planned failures around its ports, and a clock that
//! can be ahead. Everything else is production's: configuration, wiring, commands.

use std::process::ExitCode;
use std::sync::Arc;

use atlas_core::ports::SystemClock;
use atlas_gateway::app::Ports;
use atlas_gateway::commands::{self, Seams};
use atlas_tests::faults::{
    Ahead, FAIL, KILL, LATER, PANIC, Plan, PlannedFiles, PlannedModel, PlannedPlatform,
    PlannedStore,
};

fn main() -> ExitCode {
    let (kill, fail, panic) = (variable(KILL), variable(FAIL), variable(PANIC));
    let plan = Arc::new(Plan::new(kill.as_deref(), fail.as_deref(), panic.as_deref()));
    let later = variable(LATER).and_then(|seconds| seconds.parse().ok()).unwrap_or(0);
    let seams = Seams {
        clock: Arc::new(Ahead::new(Arc::new(SystemClock), later)),
        wrap: Box::new(move |ports| planned(ports, &plan)),
    };
    commands::main(std::env::args_os(), seams)
}

#[expect(clippy::disallowed_methods, reason = "the plan of a test is no configuration")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn planned(ports: Ports, plan: &Arc<Plan>) -> Ports {
    Ports {
        store: Arc::new(PlannedStore::new(ports.store, plan)),
        files: Arc::new(PlannedFiles::new(ports.files, plan)),
        platforms: ports
            .platforms
            .into_iter()
            .map(|(account, platform)| {
                (account, Arc::new(PlannedPlatform::new(platform, plan)) as _)
            })
            .collect(),
        models: ports
            .models
            .into_iter()
            .map(|(name, model)| (name, Arc::new(PlannedModel::new(model, plan)) as _))
            .collect(),
    }
}
