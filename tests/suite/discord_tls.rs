//! Discord at its own address, over TLS, with serenity's limiter at work: what `api_base` leaves out.

use atlas_adapters::discord::{DiscordAccount, Settings};
use atlas_core::ids::{ChatKey, DeliveryId};
use atlas_core::ports::{DeliveryKind, Outgoing, Platform};
use atlas_tests::bell::{Bell, runtime};
use atlas_tests::discord::{self, Channel, Discord, Guild, SendFault};

#[test]
fn discord_itself_is_reached_over_tls_and_its_limits_are_kept() {
    let bell = Bell::new();
    let (discord, certificate, address) = Discord::start_as_discord_com(&bell);
    let guild = Guild::new(700, "Team");
    let channel = Channel::text(710, &guild, "general");
    discord.join(&guild);
    discord.open(&channel);
    let certificate = reqwest12::Certificate::from_der(&certificate).expect("a certificate");
    let client = reqwest12::Client::builder()
        .no_proxy()
        .add_root_certificate(certificate)
        .resolve("discord.com", address)
        .build()
        .expect("a client");
    let settings = Settings { client: Some(client), ..Settings::default() };
    let account = DiscordAccount::new("dc".into(), discord::TOKEN.into(), settings).expect("one");
    runtime().block_on(async {
        let found = account.check(&["710".into(), "700".into()]).await.expect("it works");
        assert_eq!((&*found.name, found.reads_content), (discord::BOT_NAME, true));
        assert_eq!(found.lacks, []);

        discord.plan_sends([SendFault::TooMany(0.2)]);
        let platform = account.platform();
        let message = Outgoing {
            id: DeliveryId::new(),
            to: ChatKey { account: "dc".into(), chat: "710".into() },
            text: "once".to_owned(),
            silent: false,
            kind: DeliveryKind::Answer,
            reply_to: None,
        };
        let part = platform.encode(&message).remove(0);
        let sent = platform.send(&message, &part, 0, None).await.expect("sent, a little later");
        assert_eq!(sent.message.as_str(), discord.sent()[0].id.to_string());
    });
    assert_eq!((discord.tries(), discord.texts(710)), (2, vec!["once".to_owned()]));
    assert_eq!(discord.problems(), Vec::<String>::new());
}
