//! The commands of the README, on the real binary, each in a home of its own.
#![expect(clippy::unwrap_used, reason = "a test fails by breaking off")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::pty;
use tempfile::TempDir;

/// A fresh home that nothing of this machine leaks into.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_atlas"));
        command.args(args).env_clear().env("HOME", self.path()).env("ATLAS_HOME", self.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn atlas(&self, args: &[&str]) -> Outcome {
        self.command(args).output().unwrap().into()
    }

    /// A command at a terminal of its own, and the terminal's other side.
    fn at_a_terminal(&self, args: &[&str]) -> (Child, fs::File) {
        let ours = pty::openpt(pty::OpenptFlags::RDWR | pty::OpenptFlags::NOCTTY).unwrap();
        pty::grantpt(&ours).unwrap();
        pty::unlockpt(&ours).unwrap();
        let path = pty::ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
        let theirs = fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
        let mut command = self.command(args);
        command.env("TERM", "xterm").stdin(theirs.try_clone().unwrap());
        command.stdout(theirs.try_clone().unwrap()).stderr(theirs);
        (command.spawn().unwrap(), ours.into())
    }

    /// A gateway of this home, ready.
    fn gateway(&self) -> Gateway {
        let mut child = self.command(&["run"]).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut seen = String::new();
        while !seen.contains("Atlas is ready") {
            let read = log.read_line(&mut seen).unwrap();
            assert!(read > 0, "the gateway ended before it was ready:\n{seen}");
        }
        Gateway { child, log }
    }
}

/// A model's server that answers each request with this, or never.
fn model_server(answer: Option<&'static str>) -> (String, mpsc::Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let table = format!(
        "[models.default]\nprovider = \"openai\"\nmodel = \"m\"\nbase_url = \"http://{}/v1\"\n",
        listener.local_addr().unwrap()
    );
    let (asked, heard) = mpsc::channel();
    thread::spawn(move || {
        let mut held = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 65536]);
            let _ = asked.send(());
            match answer {
                Some(answer) => stream.write_all(answer.as_bytes()).unwrap(),
                None => held.push(stream),
            }
        }
    });
    (table, heard)
}

fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
}

struct Outcome {
    code: Option<i32>,
    out: String,
    err: String,
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

impl Outcome {
    #[track_caller]
    fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }
}

struct Gateway {
    child: Child,
    log: BufReader<std::process::ChildStderr>,
}

impl Gateway {
    /// Ends it as a service manager does. What it logged since it was ready.
    fn end(mut self) -> String {
        signal(&self.child, "-TERM");
        let mut log = String::new();
        self.log.read_to_string(&mut log).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0), "{log}");
        log
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_fact_told_to_a_fresh_home_is_known_in_the_next_answer() {
    let home = Home::new();
    let talk = home
        .atlas(&[
            "chat",
            "-m",
            "remember that my cat is called Pixel",
            "-m",
            "what is my cat called?",
        ])
        .exits(0);
    let answers: Vec<&str> = talk.out.lines().collect();
    assert_eq!(answers.len(), 2, "{}", talk.out);
    assert!(answers[1].contains("Pixel"), "{}", talk.out);
    let profile = fs::read_to_string(home.path().join("memory/USER.md")).unwrap();
    assert!(profile.contains("Pixel"), "{profile}");
}

#[test]
fn the_conversation_goes_on_in_the_next_process() {
    let home = Home::new();
    home.atlas(&["chat", "-m", "remember that my cat is called Pixel"]).exits(0);
    let talk = home.atlas(&["chat", "-m", "what is my cat called?"]).exits(0);
    assert!(talk.out.contains("Pixel"), "{}", talk.out);
}

#[test]
fn lines_from_a_pipe_are_answered_one_after_the_other() {
    let home = Home::new();
    let mut child = home.command(&["chat"]).stdin(Stdio::piped()).spawn().unwrap();
    let lines = "remember that my cat is called Pixel\n\nwhat is my cat called?\r\n";
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let talk = Outcome::from(child.wait_with_output().unwrap()).exits(0);
    assert_eq!(talk.out.lines().count(), 2, "{}", talk.out);
    assert!(talk.out.lines().nth(1).unwrap().contains("Pixel"), "{}", talk.out);
}

#[test]
fn what_a_command_answers_is_not_on_standard_output() {
    let home = Home::new();
    let talk = home.atlas(&["chat", "-m", "/status"]).exits(0);
    assert_eq!(talk.out, "");
    assert!(talk.err.contains("up for"), "{}", talk.err);
}

#[test]
fn a_terminal_works_beside_a_running_gateway() {
    let home = Home::new();
    let gateway = home.gateway();
    let talk = home.atlas(&["chat", "-m", "remember that my cat is called Pixel"]).exits(0);
    assert_eq!(talk.out.lines().count(), 1, "{}", talk.out);
    gateway.end();
}

#[test]
fn a_closed_standard_output_is_no_reason_to_complain() {
    let home = Home::new();
    home.atlas(&["chat", "-m", "remember that my cat is called Pixel"]).exits(0);
    let mut child = home.command(&["chat", "-m", "what is my cat called?"]).spawn().unwrap();
    drop(child.stdout.take());
    let talk = Outcome::from(child.wait_with_output().unwrap()).exits(0);
    assert!(!talk.err.contains("Pixel") && !talk.err.contains("pipe"), "{}", talk.err);
    // Nobody read it, so the next terminal shows it, aside, and only that one.
    let next = home.atlas(&["chat", "-m", "/help"]).exits(0);
    assert!(next.out.is_empty() && next.err.contains("Pixel"), "{}{}", next.out, next.err);
    let after = home.atlas(&["chat", "-m", "/help"]).exits(0);
    assert!(!after.err.contains("Pixel"), "{}", after.err);
}

#[test]
fn an_answer_that_failed_exits_with_1_and_says_why() {
    let home = Home::new();
    let refusal = "HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\n\
        content-length: 37\r\nconnection: close\r\n\r\n{\"error\":{\"message\":\"no such key\"}}  ";
    let (table, _) = model_server(Some(refusal));
    home.write("atlas.toml", &table);
    let talk = home.atlas(&["chat", "-m", "hello", "-m", "never sent"]).exits(1);
    assert_eq!(talk.out, "");
    assert!(talk.err.contains("no such key"), "{}", talk.err);
}

#[test]
fn an_interruption_stops_the_answer() {
    let home = Home::new();
    let (table, asked) = model_server(None);
    home.write("atlas.toml", &table);
    let child = home.command(&["chat", "-m", "hello", "-m", "never sent"]).spawn().unwrap();
    asked.recv().unwrap();
    signal(&child, "-INT");
    let talk = Outcome::from(child.wait_with_output().unwrap()).exits(1);
    assert_eq!(talk.out, "");
    assert!(talk.err.contains("Stopped."), "{}", talk.err);
    assert!(asked.try_recv().is_err(), "the model was asked again");
}

#[test]
fn a_gateway_goes_on_with_what_a_killed_terminal_left() {
    let home = Home::new();
    let (table, asked) = model_server(None);
    home.write("atlas.toml", &table);
    let gateway = home.gateway();
    let mut child = home.command(&["chat", "-m", "hello"]).spawn().unwrap();
    asked.recv().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    // Asked once more, by the gateway.
    asked.recv().unwrap();
    drop(gateway);
}

#[test]
fn a_prompt_whose_model_does_not_answer_ends_when_the_process_is_ended() {
    let home = Home::new();
    let (table, asked) = model_server(None);
    home.write("atlas.toml", &table);
    let (mut child, mut terminal) = home.at_a_terminal(&["chat"]);
    let mut screen = terminal.try_clone().unwrap();
    let (prompted, prompts) = mpsc::channel();
    let reader = thread::spawn(move || {
        let (mut seen, mut piece) = (String::new(), [0; 4096]);
        // It ends with an error when nobody has the other side any more.
        while let Ok(read) = screen.read(&mut piece) {
            seen.push_str(&String::from_utf8_lossy(&piece[..read]));
            if seen.contains("> ") {
                let _ = prompted.send(());
            }
        }
        drop(prompted);
        seen
    });
    prompts.recv().unwrap();
    terminal.write_all(b"hello\r").unwrap();
    asked.recv().unwrap();
    let ended = Command::new("kill").arg(child.id().to_string()).status().unwrap();
    assert!(ended.success());
    let left = loop {
        match prompts.recv_timeout(Duration::from_secs(60)) {
            Ok(()) => {}
            Err(over) => break over == mpsc::RecvTimeoutError::Disconnected,
        }
    };
    if !left {
        child.kill().unwrap();
    }
    let seen = reader.join().unwrap();
    assert!(left, "{seen}");
    assert!(child.wait().unwrap().success() && seen.contains("Stopping"), "{seen}");
}

#[test]
fn an_unknown_bot_is_named_with_those_that_exist() {
    let home = Home::new();
    let talk = home.atlas(&["chat", "seo", "-m", "hello"]).exits(1);
    assert!(talk.err.contains("\"seo\"") && talk.err.contains("atlas"), "{}", talk.err);
}

#[test]
fn another_bot_answers_by_name() {
    let home = Home::new();
    home.write("bots/seo/BOT.md", "---\nname: Seo\n---\nYou look after search engines.\n");
    let talk = home.atlas(&["chat", "seo", "-m", "hello"]).exits(0);
    assert!(!talk.out.trim().is_empty());
    assert!(talk.err.contains("Seo"), "{}", talk.err);
}

#[test]
fn a_broken_configuration_is_told_with_its_line_and_exits_with_78() {
    let home = Home::new();
    home.write("atlas.toml", "timezone = \"UTC\"\n\n[accounts.tg]\nplatfrom = \"telegram\"\n");
    for args in [&["run"][..], &["chat", "-m", "hello"], &["pair"]] {
        let outcome = home.atlas(args).exits(78);
        assert!(outcome.err.contains("atlas.toml:4"), "{}", outcome.err);
        assert!(outcome.err.contains("platform"), "{}", outcome.err);
        assert_eq!(outcome.out, "");
    }
}

#[test]
fn a_usage_error_exits_with_2() {
    let home = Home::new();
    home.atlas(&["dance"]).exits(2);
    home.atlas(&["chat", "-m"]).exits(2);
    assert!(home.atlas(&["help"]).exits(0).out.contains("chat"));
}

#[test]
fn pairing_prints_a_code_and_what_to_do_with_it() {
    let home = Home::new();
    let paired = home.atlas(&["pair"]).exits(0);
    let code = paired.out.lines().next().unwrap();
    assert_eq!(code.len(), 8, "{}", paired.out);
    assert!(paired.out.contains("10 minutes"), "{}", paired.out);
    let stored = fs::read(home.path().join("atlas.db")).unwrap();
    let wal = fs::read(home.path().join("atlas.db-wal")).unwrap_or_default();
    for bytes in [stored, wal] {
        assert!(!bytes.windows(8).any(|window| window == code.as_bytes()), "the code is stored");
    }
}

#[test]
fn a_home_with_an_owner_is_not_given_away_without_asking() {
    let home = Home::new();
    home.write("atlas.toml", "[owner]\ntelegram = [\"1\"]\n");
    let refused = home.atlas(&["pair"]).exits(1);
    assert!(refused.err.contains("--yes"), "{}", refused.err);
    assert_eq!(refused.out, "");
    home.atlas(&["pair", "--yes"]).exits(0);
}

#[test]
fn a_fresh_home_has_nothing_wrong_with_it() {
    let home = Home::new();
    let check = home.atlas(&["check"]).exits(0);
    assert!(check.out.lines().all(|line| line.starts_with('✓')), "{}", check.out);
    let json = home.atlas(&["check", "--json"]).exits(0);
    let rows: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    let rows = rows.as_array().unwrap();
    assert!(rows.len() >= 4 && rows.iter().all(|row| row["ok"] == true), "{}", json.out);
}

#[test]
fn check_says_what_is_wrong_and_how_to_mend_it() {
    let home = Home::new();
    home.write("memory/USER.md", "");
    fs::remove_file(home.path().join("memory/USER.md")).unwrap();
    fs::create_dir(home.path().join("memory/USER.md")).unwrap();
    let check = home.atlas(&["check"]).exits(1);
    assert!(check.out.contains("✗ files: "), "{}", check.out);
    assert!(check.out.contains("memory/USER.md"), "{}", check.out);
    home.write("atlas.toml", "nonsense = 1\n");
    let check = home.atlas(&["check"]).exits(1);
    assert!(check.out.contains("✗ configuration: "), "{}", check.out);
}

#[test]
fn the_second_gateway_says_who_has_the_home() {
    let home = Home::new();
    let gateway = home.gateway();
    let second = home.atlas(&["run"]).exits(1);
    let pid = gateway.child.id().to_string();
    assert!(second.err.contains(&pid), "{}", second.err);
    let log = gateway.end();
    assert!(log.contains("Atlas has ended"), "{log}");
    // And the home is free again.
    home.gateway().end();
}

#[test]
fn a_home_that_is_a_file_is_named() {
    let home = Home::new();
    home.write("file", "");
    let path = home.path().join("file");
    for command in [&["run"][..], &["chat", "-m", "hello"], &["pair"]] {
        let mut args = vec!["--home", path.to_str().unwrap()];
        args.extend(command);
        let outcome = home.atlas(&args).exits(1);
        assert!(outcome.err.contains(path.to_str().unwrap()), "{}", outcome.err);
        assert!(outcome.err.trim().lines().count() <= 2, "{}", outcome.err);
    }
}

#[test]
fn a_folder_in_the_databases_place_is_named() {
    let home = Home::new();
    fs::create_dir(home.path().join("atlas.db")).unwrap();
    let outcome = home.atlas(&["chat", "-m", "hello"]).exits(1);
    assert!(outcome.err.contains("atlas.db"), "{}", outcome.err);
    assert!(home.path().join("atlas.db").is_dir());
}
