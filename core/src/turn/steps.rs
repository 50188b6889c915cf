//! The steps of a turn: asking the model, running its calls, and ending without an answer. Each ends
//! in one commit.

use std::future::Future;
use std::time::Duration;

use crate::audience::{Audience, SharedMemory};
use crate::conversation::transcript::mend;
use crate::memory::levels::loaded_paths;
use crate::message::{Body, Call};
use crate::ports::{
    Answer, DeliveryKind, End, ModelError, ModelInfo, ModelRequest, NewDelivery, StoreError,
    Tokens, TurnEnd, TurnNotes, Usage,
};
use crate::tools::{ToolContext, ToolOutput};
use crate::turn::answer::{self, Reading};
use crate::turn::chain::After;
use crate::turn::model::{Remedy, TELL_AFTER, is_over, lasted, remedy};
use crate::turn::run::{Commit, Driver};
use crate::turn::tools::{self, NOT_RUN};
use crate::turn::{MAX_MINUTES, MAX_STEPS, Why, of_turn, unanswered};

/// How long a tool may still run when its turn is stopped: a turn ends within a second.
const LAST_MOMENT: Duration = Duration::from_millis(700);

/// What ended a wait.
pub(super) enum Waited<T> {
    /// What was waited for.
    Done(T),
    /// Somebody asked the turn to stop.
    StopRequested,
}

impl Driver<'_> {
    /// Asks the model once, and commits what it says.
    pub(super) async fn ask(&mut self) -> Result<(), StoreError> {
        let request = self.request();
        let model = self.chain.model().clone();
        let left = self.time_left();
        let mut deaf = |_| ();
        let asked = tokio::time::timeout(left, model.ask(&request, &mut deaf));
        match self.unless_stopped(asked).await? {
            Waited::StopRequested => Ok(()),
            Waited::Done(Err(_)) => self.give_up(Why::Time).await,
            Waited::Done(Ok(Ok(answer))) => {
                self.tries = 0;
                self.answered(answer).await
            }
            Waited::Done(Ok(Err(error))) => {
                let (name, id) = (&model.info().name, self.claim.conversation);
                // Once for an outage, however often it is tried.
                if self.tries == 0 {
                    tracing::warn!(model = %name, conversation.id = %id, %error, "the model gave no answer");
                } else {
                    tracing::debug!(model = %name, conversation.id = %id, %error, "the model gave no answer again");
                }
                self.failed(&error, &request).await
            }
        }
    }

    fn request(&self) -> ModelRequest {
        ModelRequest {
            system: self.system.clone(),
            tools: self.engine.tools.specs(),
            messages: mend(self.loaded.messages.iter().map(|message| &message.body)),
            strict_roles: self.strict_roles,
            reasoning: self.reasoning,
            cache_key: format!("atlas-{}", self.claim.conversation),
        }
    }

    /// The rest of the turn's time.
    fn time_left(&self) -> Duration {
        let whole = chrono::Duration::minutes(MAX_MINUTES);
        let gone = self.engine.clock.now() - self.taken_up;
        // Never more than the whole, also where the clock was set back.
        (whole - gone).min(whole).to_std().unwrap_or_default()
    }

    /// Waits for something, and at every ring looks whether the turn is to stop.
    pub(super) async fn unless_stopped<F: Future>(
        &mut self,
        work: F,
    ) -> Result<Waited<F::Output>, StoreError> {
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return Ok(Waited::Done(done)),
                () = self.bell.notified() => {
                    if self.engine.store.stop_requested(self.claim.conversation).await? {
                        self.loaded.stop_requested = true;
                        return Ok(Waited::StopRequested);
                    }
                }
            }
        }
    }

    async fn answered(&mut self, answer: Answer) -> Result<(), StoreError> {
        let Some(open) = &self.loaded.turn else { return Ok(()) };
        let mut notes = TurnNotes { outage_since: None, told_outage: false, ..open.notes.clone() };
        let specs = self.engine.tools.specs();
        let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
        let reading = answer::read(&answer, &notes, &names);
        let usage = |anchors| Some(self.usage(answer.tokens, anchors));
        let Answer { ref text, ref calls, ref blocks, .. } = answer;
        let body =
            Body::Assistant { text: text.clone(), calls: calls.clone(), blocks: blocks.clone() };
        notes.steps += 1;
        let commit = match reading {
            Reading::Calls => Commit {
                messages: vec![body],
                usage: usage(true),
                notes: Some(notes),
                ..Commit::default()
            },
            Reading::Final(line) => {
                let mut deliveries = self.deliveries(&notes.places, DeliveryKind::Answer, text);
                let lines = [line.map(str::to_owned), self.memory_line(&notes)];
                for line in lines.into_iter().flatten() {
                    deliveries.extend(self.deliveries(&notes.places, DeliveryKind::Notice, &line));
                }
                let (usage, end) = (usage(true), Some(TurnEnd::Done));
                Commit {
                    messages: vec![body],
                    deliveries,
                    usage,
                    notes: Some(notes),
                    end,
                    ..Commit::default()
                }
            }
            Reading::AskAgain => {
                notes.asked_again = true;
                Commit { usage: usage(false), notes: Some(notes), ..Commit::default() }
            }
            Reading::Remind => {
                notes.reminded = true;
                let messages = vec![body, Body::note(answer::REMINDER)];
                Commit { messages, usage: usage(true), notes: Some(notes), ..Commit::default() }
            }
            Reading::Nothing(says) => {
                let usage = usage(false);
                return self.end_failed(says, None, usage, answer.end == End::Refusal).await;
            }
        };
        self.commit(commit).await
    }

    fn usage(&self, tokens: Tokens, anchors: bool) -> Usage {
        Usage {
            model: self.chain.model().info().name.clone(),
            purpose: "turn".to_owned(),
            tokens,
            anchors,
        }
    }

    /// The quiet line that names what the turn wrote.
    fn memory_line(&self, notes: &TurnNotes) -> Option<String> {
        (self.home.memory_notice && !notes.changed.is_empty()).then(|| notes.changed.join(" · "))
    }

    /// Does what an error of the model's asks for.
    async fn failed(
        &mut self,
        error: &ModelError,
        request: &ModelRequest,
    ) -> Result<(), StoreError> {
        let failed = self.chain.model().clone();
        let remedy = remedy(error, self.tries, request.strict_roles, request.reasoning);
        let reason = match &remedy {
            Remedy::GiveUp { reason, .. } => Some(reason.clone()),
            _ => None,
        };
        let remedy = match self.chain.after(error, remedy, self.tries) {
            After::Remedy(remedy) => remedy,
            After::Next => return self.pass_on(failed.info(), reason).await,
            After::Again(wait) => {
                self.pass_on(failed.info(), reason).await?;
                return self.wait_out(error, wait).await;
            }
        };
        let wait = match remedy {
            Remedy::Wait(wait) => wait,
            Remedy::Strict => {
                let (signer, now) = (&failed.info().signer, self.engine.clock.now());
                self.strict_roles = true;
                self.engine.learned.wants_strict_roles(signer);
                return self.engine.store.found_strict_roles(signer, now).await;
            }
            Remedy::WithoutReasoning => {
                self.reasoning = false;
                return Ok(());
            }
            Remedy::Cut => {
                let (memory, places) = match &self.loaded.turn {
                    Some(open) => (open.notes.memory, open.notes.places.clone()),
                    None => (None, Vec::new()),
                };
                if self.tries < 3 && self.cut(memory, &places).await? {
                    self.tries += 1;
                    return Ok(());
                }
                let says = "This is longer than my model can read at once. Please send less.";
                return self.end_failed(says, Some(&error.to_string()), None, false).await;
            }
            Remedy::GiveUp { says, reason } => {
                return self.end_failed(&says, Some(&reason), None, false).await;
            }
        };
        self.tries += 1;
        self.wait_out(error, wait).await
    }

    /// The turn goes on with another model of the chain than the one that failed. The owner is told once
    /// of what only they can mend.
    async fn pass_on(
        &mut self,
        failed: &ModelInfo,
        reason: Option<String>,
    ) -> Result<(), StoreError> {
        let Some(open) = &self.loaded.turn else { return Ok(()) };
        let (mut notes, now) = (open.notes.clone(), self.engine.clock.now());
        let (learned, next) = (&self.engine.learned, self.chain.model().clone());
        tracing::warn!(model = %failed.name, next = %next.info().name, conversation.id = %self.claim.conversation, "another model is asked");
        learned.rest(&failed.signer, now);
        let mut deliveries = self.outage(&mut notes, Duration::ZERO);
        if let Some(reason) = reason.filter(|reason| learned.is_news(&failed.signer, reason))
            && let Some(place) = self.engine.store.private_place(self.bot.id).await?
        {
            let told = format!(
                "The model `{}` does not answer. {reason}\nUntil then I ask `{}`.",
                failed.name,
                next.info().name
            );
            deliveries.push(self.delivery(place, DeliveryKind::Notice, &told));
        }
        notes.model = self.chain.stands_in();
        (self.tries, self.reasoning) = (0, true);
        self.strict_roles =
            self.engine.learned.strict_roles(&*self.engine.store, next.info()).await?;
        self.commit(Commit { deliveries, notes: Some(notes), ..Commit::default() }).await
    }

    /// Notes that nobody answers, and tells people once that it takes longer than `wait` from now.
    fn outage(&self, notes: &mut TurnNotes, wait: Duration) -> Vec<NewDelivery> {
        let now = self.engine.clock.now();
        // The time that nobody tried does not count.
        let since = notes.outage_since.unwrap_or(now).max(self.taken_up).min(now);
        notes.outage_since = Some(since);
        if notes.told_outage || lasted(notes.outage_since, now) + wait < TELL_AFTER {
            return Vec::new();
        }
        notes.told_outage = true;
        let says = "My model's server does not answer at the moment. I keep trying.";
        self.deliveries(&notes.places, DeliveryKind::Notice, says)
    }

    /// Waits for a server that is busy or out of reach, as long as patience lasts. People are told
    /// once that it takes longer.
    async fn wait_out(&mut self, error: &ModelError, wait: Duration) -> Result<(), StoreError> {
        let Some(open) = &self.loaded.turn else { return Ok(()) };
        let (mut notes, now) = (open.notes.clone(), self.engine.clock.now());
        let begun = notes.outage_since.is_none();
        let deliveries = self.outage(&mut notes, wait);
        if is_over(notes.outage_since, now, self.home.patience) {
            let says = "My model's server does not answer; I have given up for now. Please ask again later.";
            return self.end_failed(says, Some(&error.to_string()), None, false).await;
        }
        if begun || !deliveries.is_empty() {
            self.commit(Commit { deliveries, notes: Some(notes), ..Commit::default() }).await?;
        }
        let mut stop = self.stop.clone();
        let wait = async {
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                _ = stop.wait_for(|stop| *stop) => {}
            }
        };
        self.unless_stopped(wait).await?;
        Ok(())
    }

    /// Runs these calls one after the other; each result is committed when it is there.
    pub(super) async fn run_tools(&mut self, calls: &[(usize, Call)]) -> Result<(), StoreError> {
        for (index, call) in calls {
            let Some(context) = self.context(*index) else { return Ok(()) };
            let output = self.run_tool(call, &context).await?;
            let mut notes = context.notes;
            notes.outside |= output.outside;
            notes.refusals = if output.refused { notes.refusals + 1 } else { 0 };
            if let Some(changed) = output.changed
                && !notes.changed.contains(&changed)
            {
                notes.changed.push(changed);
            }
            let result = result(call, output.text, output.outside);
            self.commit(Commit { messages: vec![result], notes: Some(notes), ..Commit::default() })
                .await?;
            if self.loaded.stop_requested {
                return Ok(());
            }
        }
        self.join().await
    }

    async fn run_tool(
        &mut self,
        call: &Call,
        context: &ToolContext,
    ) -> Result<ToolOutput, StoreError> {
        let (tools, resumed) = (self.engine.tools.clone(), self.resumed);
        let running = tools::run(&tools, call, context, resumed);
        tokio::pin!(running);
        Ok(match self.unless_stopped(&mut running).await? {
            Waited::Done(output) => output,
            // It may have begun to do something, and then its result must be told.
            Waited::StopRequested => {
                let output = tokio::time::timeout(LAST_MOMENT, running).await;
                output.unwrap_or_else(|_| ToolOutput::text(tools::BROKEN_OFF))
            }
        })
    }

    /// What a tool is told of the turn.
    fn context(&self, index: usize) -> Option<ToolContext> {
        let open = self.loaded.turn.as_ref()?;
        let asked = of_turn(&self.loaded.messages, open)
            .rev()
            .find(|message| matches!(message.body, Body::Assistant { .. }))?;
        let memory = open.notes.memory.unwrap_or_else(|| SharedMemory::default_for(&self.bot));
        let loaded = loaded_paths(&self.bot, self.loaded.audience, memory);
        Some(ToolContext {
            bot: self.bot.clone(),
            conversation: self.claim.conversation,
            audience: self.loaded.audience,
            standing: open.standing,
            outside: open.notes.outside,
            loaded,
            turn: open.id,
            claim: self.claim.clone(),
            key: format!("turn:{}:{}:{index}", open.id, asked.seq),
            notes: open.notes.clone(),
        })
    }

    /// Ends the turn early: calls get results that say so, and the transcript a line.
    pub(super) async fn give_up(&mut self, why: Why) -> Result<(), StoreError> {
        let steps = format!(
            "I stopped after {MAX_STEPS} steps without an answer. Say \"go on\" and I will."
        );
        let time = format!(
            "I stopped after {MAX_MINUTES} minutes without an answer. Say \"go on\" and I will."
        );
        let says = match why {
            Why::Asked => {
                return self.end_with("(stopped by the user)", &[], None, TurnEnd::Stopped).await;
            }
            Why::Steps => steps.as_str(),
            Why::Time => time.as_str(),
            Why::Failures => {
                "I am sorry: I failed three times at this message and leave it. Please say it in another way."
            }
        };
        self.end_failed(says, None, None, false).await
    }

    /// Ends the turn with a failure that people are told. The reason, which may be the provider's own
    /// words, is for the owner: in the conversation itself where only the owner reads it, else in
    /// their private chat.
    async fn end_failed(
        &mut self,
        says: &str,
        reason: Option<&str>,
        usage: Option<Usage>,
        by_the_model: bool,
    ) -> Result<(), StoreError> {
        let Some(open) = &self.loaded.turn else { return Ok(()) };
        let private = self.loaded.audience == Audience::Private;
        let told = match reason {
            Some(reason) if private => format!("{says}\n{reason}"),
            _ => says.to_owned(),
        };
        let mut deliveries = self.deliveries(&open.notes.places, DeliveryKind::Failure, &told);
        if let Some(reason) = reason.filter(|_| !private)
            && let Some(place) = self.engine.store.private_place(self.bot.id).await?
        {
            let told = format!("In another chat: {says}\n{reason}");
            deliveries.push(self.delivery(place, DeliveryKind::Notice, &told));
        }
        if !by_the_model {
            tracing::warn!(conversation.id = %self.claim.conversation, turn.id = %open.id, says, "a turn ended without an answer");
        }
        let line = format!("(no answer: {says})");
        self.end_with(&line, &deliveries, usage, TurnEnd::Failed).await
    }

    async fn end_with(
        &mut self,
        line: &str,
        deliveries: &[NewDelivery],
        usage: Option<Usage>,
        end: TurnEnd,
    ) -> Result<(), StoreError> {
        let Some(open) = &self.loaded.turn else { return Ok(()) };
        let mut messages: Vec<Body> = unanswered(&self.loaded.messages, open)
            .iter()
            .map(|(_, call)| result(call, NOT_RUN.to_owned(), false))
            .collect();
        messages.push(Body::line(line));
        let mut deliveries = deliveries.to_vec();
        if let Some(line) = self.memory_line(&open.notes) {
            deliveries.extend(self.deliveries(&open.notes.places, DeliveryKind::Notice, &line));
        }
        self.commit(Commit { messages, deliveries, usage, end: Some(end), ..Commit::default() })
            .await
    }
}

fn result(call: &Call, text: String, outside: bool) -> Body {
    Body::Tool { call: call.id.clone(), name: call.name.clone(), text, outside }
}
