//! Questions on a terminal. They go to standard error; answers are read in a thread of their own, so
//! that Ctrl-C is heard meanwhile.

use std::io::{self, BufRead, ErrorKind, IsTerminal, Write};

use rpassword::{ConfigBuilder, prompt_password_with_config};
use secrecy::SecretString;
use tokio::task::spawn_blocking;

use super::{Failure, left};

/// Whether there is somebody to ask.
pub(super) fn can() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Says something to who answers.
pub(super) fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// A line, without what surrounds it.
pub(super) async fn line(prompt: &str) -> Result<String, Failure> {
    let mut err = io::stderr();
    let _ = write!(err, "{prompt}").and_then(|()| err.flush());
    let read = spawn_blocking(|| {
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line).map(|read| (read, line))
    });
    match read.await {
        Ok(Ok((1.., line))) => Ok(line.trim().to_owned()),
        _ => Err(left("Stopped.")),
    }
}

/// What nobody is to see, not even its history: a star is shown for each character.
pub(super) async fn hidden(prompt: &'static str) -> Result<SecretString, Failure> {
    let read = spawn_blocking(move || {
        let stars = ConfigBuilder::new().password_feedback_mask('*').build();
        prompt_password_with_config(prompt, stars)
    });
    match read.await {
        Ok(Ok(text)) => Ok(text.into()),
        Ok(Err(error))
            if !matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::UnexpectedEof) =>
        {
            Err(Failure::new(
                format!("This terminal cannot hide what is typed: {error}."),
                super::TOKEN_FLAG,
            ))
        }
        _ => Err(left("Stopped; nothing was changed.")),
    }
}

/// Whether somebody agrees; Enter alone is `default`.
pub(super) async fn agreed(question: &str, default: bool) -> Result<bool, Failure> {
    Ok(match line(question).await?.to_lowercase().as_str() {
        "" => default,
        answer => matches!(answer, "y" | "yes"),
    })
}
