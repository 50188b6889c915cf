//! The composition root: the one place where the parts are made and put together.
//!
//! Production and tests differ in the configuration, the clock, and a function that wraps the
//! finished ports. Nothing else makes a client, a store or a file system.

use std::collections::BTreeMap;
use std::sync::Arc;

use atlas_adapters::memory_fs::DiskFiles;
use atlas_adapters::terminal::{Printer, Terminal};
use atlas_config::Config;
use atlas_core::conversation::kept::Kept;
use atlas_core::engine::{Engine, Serves};
use atlas_core::home::{Home, Models};
use atlas_core::ids::{AccountId, BotName, ModelName};
use atlas_core::intake::Intake;
use atlas_core::memory::MemoryWriter;
use atlas_core::ports::{Clock, MemoryFiles, ModelClient, Platform, Source, Store};
use atlas_core::tools::Toolbox;
use atlas_core::tools::memory::MemoryTool;
use atlas_core::turn::learned::Learned;
use atlas_core::worker::Bells;
use tokio::sync::watch;

use crate::commands::Failure;
use crate::parts;
use crate::presence::{HomeLock, LockPresence};
use crate::reload::{Reload, Watched};

/// The finished ports, as a test may wrap them.
pub struct Ports {
    /// The database.
    pub store: Arc<dyn Store>,
    /// Memory's files.
    pub files: Arc<dyn MemoryFiles>,
    /// The ways out.
    pub platforms: BTreeMap<AccountId, Arc<dyn Platform>>,
    /// The models.
    pub models: BTreeMap<ModelName, Arc<dyn ModelClient>>,
}

/// Wraps the finished ports; the identity in production.
pub type Wrap = Box<dyn FnOnce(Ports) -> Ports + Send>;

/// A terminal to be opened in this process.
pub struct Seat {
    /// Where its answers appear.
    pub printer: Arc<dyn Printer>,
    /// Who answers in it.
    pub bot: BotName,
}

/// What an application is, besides its configuration.
pub struct Options {
    /// The terminal, in a process that is one. It then serves what is typed there; without one it
    /// is the home's only gateway, and serves everything else.
    pub seat: Option<Seat>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Wraps the ports.
    pub wrap: Wrap,
}

/// A finished application that does nothing yet.
pub struct App {
    /// What every part of the engine is given.
    pub engine: Arc<Engine>,
    /// The way in.
    pub intake: Arc<Intake>,
    /// The terminal, if this process is one.
    pub terminal: Option<Arc<Terminal>>,
    /// The ways in from elsewhere.
    pub(crate) sources: Vec<(AccountId, Arc<dyn Source>)>,
    /// Settles what a crash left between file and database.
    pub(crate) writer: Arc<MemoryWriter>,
    /// This process among those of the home.
    pub(crate) presence: Arc<LockPresence>,
    /// Held while the gateway of the home lives.
    _lock: Option<HomeLock>,
    /// The home is replaced here; held so that the engine's end stays open.
    home: watch::Sender<Arc<Home>>,
    /// Looks after a configuration that changes, in a gateway.
    pub(crate) reload: Option<Arc<Reload>>,
}

impl App {
    /// Makes all parts, from the bottom to the top. Calls nobody on a network.
    ///
    /// # Errors
    ///
    /// A sentence for a person: the home is taken, cannot be read, or a part of it is broken.
    pub async fn build(config: Config, options: Options) -> Result<Self, Failure> {
        let (lock, presence) = parts::enter(&config, options.seat.is_some())?;
        let store = Arc::new(parts::open_store(&config).await?);
        let files = Arc::new(DiskFiles::new(config.home.clone()));
        let (sources, mut platforms) = parts::accounts(&config, options.seat.is_some())?;
        let terminal = options.seat.as_ref().map(|seat| parts::terminal(&presence, seat));
        if let Some(terminal) = &terminal {
            platforms.insert(terminal.account().clone(), terminal.clone());
        }
        let models = parts::models(&config)?;
        let ports = (options.wrap)(Ports { store, files, platforms, models });

        let seat = options.seat.as_ref().map(|seat| &seat.bot);
        let models = Models::new(ports.models);
        let home = parts::home(&config, &*ports.store, &*options.clock, seat, models).await?;
        let (sender, home) = watch::channel(Arc::new(home));
        let writer = Arc::new(MemoryWriter::new(
            ports.store.clone(),
            ports.files.clone(),
            options.clock.clone(),
        ));
        let engine = Arc::new(Engine {
            store: ports.store,
            clock: options.clock,
            presence: presence.clone(),
            files: ports.files,
            platforms: ports.platforms,
            tools: Toolbox::new(vec![Arc::new(MemoryTool::new(writer.clone()))]),
            home,
            serves: if terminal.is_some() { Serves::Terminal } else { Serves::Home },
            bells: Arc::new(Bells::default()),
            kept: Kept::default(),
            learned: Learned::default(),
        });
        let intake = Arc::new(Intake::new(engine.clone()));
        Ok(Self {
            engine,
            intake,
            terminal,
            sources,
            writer,
            presence,
            _lock: lock,
            home: sender,
            reload: None,
        })
    }

    /// With a look at what it was built from: when that changes, it is taken up.
    #[must_use]
    pub(crate) fn watching(self, watched: Watched) -> Self {
        let reload = Reload::new(watched, self.engine.clone(), self.home.clone());
        Self { reload: Some(Arc::new(reload)), ..self }
    }
}
