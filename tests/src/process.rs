//! A process under test: started, spoken to, killed, and everything that it wrote kept.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;

use crate::bell::{self, Bell, CEILING, Told};

/// What a process wrote up to now.
#[derive(Debug, Default)]
struct Written {
    out: String,
    err: Vec<String>,
}

/// A running process, or one that has ended.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    stdin: Option<ChildStdin>,
    written: Arc<Told<Written>>,
    readers: Vec<JoinHandle<()>>,
    ended: Option<ExitStatus>,
}

impl Process {
    /// Starts it.
    ///
    /// # Panics
    ///
    /// Where it cannot be started.
    #[must_use]
    pub fn start(name: &str, command: &mut Command, bell: &Arc<Bell>) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the executable under test");
        let written = Arc::new(Told::new(Written::default(), bell));
        let readers = vec![
            read_out(child.stdout.take().expect("its output"), written.clone()),
            read_err(child.stderr.take().expect("its errors"), written.clone()),
        ];
        let stdin = child.stdin.take();
        Self { name: name.to_owned(), child, stdin, written, readers, ended: None }
    }

    /// The number that the system gave it.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Types a line.
    pub fn type_line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("an open input");
        // A process that was killed reads nothing; what it then did is what the test looks at.
        let _ = stdin.write_all(format!("{line}\n").as_bytes()).and_then(|()| stdin.flush());
    }

    /// Ends its input.
    pub fn end_input(&mut self) {
        self.stdin = None;
    }

    /// Standard output up to now.
    #[must_use]
    pub fn out(&self) -> String {
        self.written.look(|written| written.out.clone())
    }

    /// Standard error up to now, without the log.
    #[must_use]
    pub fn err(&self) -> String {
        self.written.look(|written| {
            let lines = written.err.iter().filter(|line| !line.starts_with('{'));
            lines.map(|line| format!("{line}\n")).collect()
        })
    }

    /// The log up to now: lines of JSON.
    #[must_use]
    pub fn log(&self) -> Vec<String> {
        self.written.look(|written| {
            written.err.iter().filter(|line| line.starts_with('{')).cloned().collect()
        })
    }

    /// Whether a line of the log says this.
    #[must_use]
    pub fn logged(&self, text: &str) -> bool {
        self.written.look(|written| written.err.iter().any(|line| line.contains(text)))
    }

    /// Everything that it wrote, for a search.
    #[must_use]
    pub fn everything(&self) -> String {
        self.written.look(|written| format!("{}\n{}", written.out, written.err.join("\n")))
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().expect("a child that can be asked");
            if self.ended.is_some() {
                // What it wrote last is read before anybody looks.
                self.readers.drain(..).for_each(|reader| reader.join().expect("a reader"));
            }
        }
        self.ended
    }

    /// Waits for its end.
    ///
    /// # Panics
    ///
    /// Where it does not end in time.
    pub fn wait(&mut self, bell: &Bell) -> ExitStatus {
        match bell.wait(CEILING, || self.ended()) {
            Some(status) => status,
            None => panic!("{} did not end\n{}", self.name, self.describe()),
        }
    }

    /// SIGKILL, as a power cut or the kernel does it.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let status = self.child.wait().expect("a child that can be waited for");
        self.ended = Some(status);
        self.readers.drain(..).for_each(|reader| reader.join().expect("a reader"));
    }

    /// SIGTERM, without waiting.
    pub fn terminate(&self) {
        self.signal("-TERM");
    }

    /// SIGHUP, without waiting.
    pub fn hang_up(&self) {
        self.signal("-HUP");
    }

    fn signal(&self, signal: &str) {
        if self.ended.is_none() {
            let pid = self.child.id().to_string();
            let _ = Command::new("kill").args([signal, &pid]).status();
        }
    }

    /// Whether it died at a crash point.
    pub fn crashed(&mut self) -> bool {
        self.ended().is_some_and(|status| status.signal() == Some(6))
    }

    /// How it stands, for a failure.
    #[must_use]
    pub fn describe(&self) -> String {
        let (out, err) = (self.out(), self.err());
        let mut text = format!("{}: ended {:?}\n", self.name, self.ended);
        if !out.is_empty() {
            text += &format!("  output: {out}");
        }
        if !err.is_empty() {
            text += &format!("  errors: {err}");
        }
        let told = |line: &&String| {
            !line.contains("\"level\":\"TRACE\"") && !line.contains("\"level\":\"DEBUG\"")
        };
        let log = self.log();
        for line in log.iter().filter(told).rev().take(40).collect::<Vec<_>>().iter().rev() {
            text += &format!("  {line}\n");
        }
        text
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.ended.is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn read_out(mut stream: impl Read + Send + 'static, written: Arc<Told<Written>>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        let mut left = Vec::new();
        while let Ok(read @ 1..) = stream.read(&mut buffer) {
            left.extend_from_slice(&buffer[..read]);
            // A character may be cut between two reads.
            let whole = match std::str::from_utf8(&left) {
                Ok(text) => text.len(),
                Err(error) => error.valid_up_to(),
            };
            let text: Vec<u8> = left.drain(..whole).collect();
            written.change(|written| written.out += &String::from_utf8_lossy(&text));
        }
    })
}

fn read_err(stream: impl Read + Send + 'static, written: Arc<Told<Written>>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut lines = BufReader::new(stream);
        let mut line = Vec::new();
        while let Ok(1..) = lines.read_until(b'\n', &mut line) {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            line.clear();
            // Only what may be waited for wakes the test; a trace has thousands of lines a second.
            let quiet =
                text.contains("\"level\":\"TRACE\"") || text.contains("\"level\":\"DEBUG\"");
            if quiet {
                written.quietly(|written| written.err.push(text));
            } else {
                written.change(|written| written.err.push(text));
            }
        }
    })
}

/// Waits until a fact of this process holds.
pub fn until<R>(bell: &Bell, what: &str, process: &Process, fact: impl FnMut() -> Option<R>) -> R {
    bell::until(bell, what, || process.describe(), fact)
}
