//! The arms of the reference crate.
//!
//! bench events AGENT PROGRAM: reads a run to its end and says what that took, as JSON.
//! bench end: starts the program that a line of its input names, ends it at the next line, and says when that began and
//! was over.
use agent_abstraction::{Agent, Request, stream};
use std::{env, fs, mem::MaybeUninit, time::Instant};
use tokio::io::{AsyncBufReadExt, BufReader, stdin};

fn status(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).unwrap_or(0) * 1024
}

/// Milliseconds of the processor that this process has used.
fn cpu() -> f64 {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let ms = |time: libc::timeval| time.tv_sec as f64 * 1e3 + time.tv_usec as f64 / 1e3;
    ms(usage.ru_utime) + ms(usage.ru_stime)
}

/// Milliseconds on the clock that all processes share.
fn now() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

async fn events(agent: Agent, program: &str) {
    let floor = status("VmRSS:");
    let _ = fs::write("/proc/self/clear_refs", "5");
    let (began, before, mut count) = (Instant::now(), cpu(), 0);
    let mut run = stream(&Request::new(agent, "go on").bin(program)).expect("a run");
    while run.recv().await.is_some() {
        count += 1;
    }
    run.finish().await.expect("an outcome");
    println!(
        "{{\"wall\":{},\"cpu\":{},\"memory\":{},\"count\":{count}}}",
        began.elapsed().as_secs_f64() * 1e3,
        cpu() - before,
        status("VmHWM:").saturating_sub(floor),
    );
}

async fn end() {
    let mut lines = BufReader::new(stdin()).lines();
    while let Ok(Some(program)) = lines.next_line().await {
        let run = stream(&Request::new(Agent::Codex, "go on").bin(program)).expect("a run");
        let _ = lines.next_line().await;
        let (began, before) = (now(), cpu());
        let _ = run.cancel().await;
        println!("{{\"began\":{began},\"ended\":{},\"cpu\":{}}}", now(), cpu() - before);
    }
}

#[tokio::main]
async fn main() {
    let given: Vec<String> = env::args().collect();
    match given[1].as_str() {
        "events" => {
            let agent = match given[2].as_str() {
                "claude" => Agent::Claude,
                "codex" => Agent::Codex,
                _ => Agent::Copilot,
            };
            events(agent, &given[3]).await
        }
        _ => end().await,
    }
}
