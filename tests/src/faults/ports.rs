//! The other ports, with the plan's crash points.

use std::sync::Arc;

use async_trait::async_trait;
use atlas_core::event::files::Attached;
use atlas_core::ids::{AccountId, ChatKey, PlatformName};
use atlas_core::ports::{
    Answer, Capabilities, Delta, Encoded, FetchError, Fetched, FileError, FileState, LockGuard,
    MemoryFiles, ModelClient, ModelError, ModelInfo, ModelRequest, Outgoing, Placed, Platform,
    Receipt, Repeat, SendError, Stat,
};

use super::Plan;

/// Memory's files that die or fail where the plan says so.
pub struct PlannedFiles {
    inner: Arc<dyn MemoryFiles>,
    plan: Arc<Plan>,
}

impl PlannedFiles {
    /// Around `inner`.
    #[must_use]
    pub fn new(inner: Arc<dyn MemoryFiles>, plan: &Arc<Plan>) -> Self {
        Self { inner, plan: plan.clone() }
    }

    async fn pass<T: Send>(
        &self,
        name: &str,
        path: &str,
        work: impl Future<Output = Result<T, FileError>> + Send,
    ) -> Result<T, FileError> {
        self.plan.before(name);
        if self.plan.fails(name) {
            let why = "no space left on device (planned)".to_owned();
            return Err(FileError::Unwritable { path: path.to_owned(), why });
        }
        let done = work.await;
        if done.is_ok() {
            self.plan.after(name);
        }
        done
    }
}

#[async_trait]
impl MemoryFiles for PlannedFiles {
    async fn read(&self, path: &str) -> Result<FileState, FileError> {
        self.pass("read", path, self.inner.read(path)).await
    }

    async fn stat(&self, path: &str) -> Result<Option<Stat>, FileError> {
        self.pass("stat", path, self.inner.stat(path)).await
    }

    async fn lock(&self, path: &str) -> Result<Box<dyn LockGuard>, FileError> {
        self.pass("lock", path, self.inner.lock(path)).await
    }

    async fn prepare(&self, path: &str, token: &str, text: &str) -> Result<(), FileError> {
        self.pass("prepare", path, self.inner.prepare(path, token, text)).await
    }

    async fn place(
        &self,
        path: &str,
        token: &str,
        expect_missing: bool,
    ) -> Result<Placed, FileError> {
        self.pass("place", path, self.inner.place(path, token, expect_missing)).await
    }

    async fn left_over(&self, path: &str, token: &str) -> Result<FileState, FileError> {
        self.pass("left_over", path, self.inner.left_over(path, token)).await
    }

    async fn discard(&self, path: &str, token: &str) -> Result<(), FileError> {
        self.pass("discard", path, self.inner.discard(path, token)).await
    }

    async fn back_up(&self, path: &str, text: &str, stamp: &str) -> Result<String, FileError> {
        self.pass("back_up", path, self.inner.back_up(path, text, stamp)).await
    }
}

/// A platform that dies around a send where the plan says so.
pub struct PlannedPlatform {
    inner: Arc<dyn Platform>,
    plan: Arc<Plan>,
}

impl PlannedPlatform {
    /// Around `inner`.
    #[must_use]
    pub fn new(inner: Arc<dyn Platform>, plan: &Arc<Plan>) -> Self {
        Self { inner, plan: plan.clone() }
    }
}

#[async_trait]
impl Platform for PlannedPlatform {
    fn account(&self) -> &AccountId {
        self.inner.account()
    }

    fn platform(&self) -> PlatformName {
        self.inner.platform()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn encode(&self, message: &Outgoing) -> Vec<Encoded> {
        self.inner.encode(message)
    }

    async fn send(
        &self,
        message: &Outgoing,
        part: &Encoded,
        index: usize,
        repeat: Option<Repeat>,
    ) -> Result<Receipt, SendError> {
        self.plan.before("send");
        let sent = self.inner.send(message, part, index, repeat).await;
        if sent.is_ok() {
            self.plan.after("send");
        }
        sent
    }

    async fn fetch(&self, file: &Attached, most: usize) -> Result<Fetched, FetchError> {
        self.plan.before("fetch");
        let fetched = self.inner.fetch(file, most).await;
        if fetched.is_ok() {
            self.plan.after("fetch");
        }
        fetched
    }

    async fn typing(&self, chat: &ChatKey) {
        self.inner.typing(chat).await;
    }
}

/// A model that dies around a question where the plan says so.
pub struct PlannedModel {
    inner: Arc<dyn ModelClient>,
    plan: Arc<Plan>,
}

impl PlannedModel {
    /// Around `inner`.
    #[must_use]
    pub fn new(inner: Arc<dyn ModelClient>, plan: &Arc<Plan>) -> Self {
        Self { inner, plan: plan.clone() }
    }
}

#[async_trait]
impl ModelClient for PlannedModel {
    fn info(&self) -> &ModelInfo {
        self.inner.info()
    }

    async fn ask(
        &self,
        request: &ModelRequest,
        deltas: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Answer, ModelError> {
        self.plan.before("ask");
        let answer = self.inner.ask(request, deltas).await;
        if answer.is_ok() {
            self.plan.after("ask");
        }
        answer
    }
}
