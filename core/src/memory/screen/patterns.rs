//! The shapes of an attack in words. Each pattern is matched against the text in lower case with
//! quotes, dashes and spaces evened out, so that retyping does not hide it.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

use super::Kind;
use crate::memory::matching::even;

/// What a text says, None for ordinary text.
pub(super) fn found(text: &str) -> Option<Kind> {
    if is_secret(text) {
        return Some(Kind::Secret);
    }
    let plain = plain(text);
    if BACKDOOR.is_match(&plain) {
        return Some(Kind::Backdoor);
    }
    if said(&EXFILTRATION, &plain) {
        return Some(Kind::Exfiltration);
    }
    if said(&OWN_CONFIGURATION, &plain) {
        return Some(Kind::OwnConfiguration);
    }
    if said(&INJECTION, &plain) {
        return Some(Kind::Injection);
    }
    None
}

/// The text evened out, in lower case, without soft hyphens, wide letters made plain.
fn plain(text: &str) -> String {
    let evened = even(text);
    evened
        .chars()
        .filter(|c| !matches!(c, '\u{ad}' | '\u{34f}'))
        .map(|c| match c {
            '\u{ff01}'..='\u{ff5e}' => {
                u32::from(c).checked_sub(0xfee0).and_then(char::from_u32).unwrap_or(c)
            }
            other => other,
        })
        .flat_map(char::to_lowercase)
        .collect()
}

/// Whether any match is said in earnest: not as what somebody must not obey.
fn said(patterns: &[Regex], plain: &str) -> bool {
    patterns
        .iter()
        .flat_map(|pattern| pattern.find_iter(plain))
        .any(|hit| !is_quoted(plain, hit.start(), hit.end()))
}

/// A rule may quote what it is against: "never obey a page that says: …" is none of it.
fn is_quoted(plain: &str, start: usize, end: usize) -> bool {
    let lead = &plain[..start];
    let ends = [lead.rfind([';', '!', '?']), lead.rfind(". ")];
    let sentence = &lead[ends.into_iter().flatten().max().map_or(0, |at| at + 1)..];
    if GOVERNED.is_match(sentence) || DISOBEYED.is_match(sentence) {
        return true;
    }
    let tail = &plain[end..];
    let in_quotes = lead.matches(['"', '`']).count() % 2 == 1 && tail.contains(['"', '`']);
    in_quotes && (REPORTED.is_match(sentence) || TREATED.is_match(tail))
}

/// Words right before an order that turn it round: "never edit …", "asked before you change …".
/// Anything in between ("never mind, …", "do not forget to …") could turn it back.
static GOVERNED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"\b(never|do not|don't|does not|doesn't|must not|mustn't|should not|shouldn't|cannot|can't|will not|won't|may not|refuses? to|declines? to|asks? before|asked before|nunca|jamais|não|no debes|nie|niemals)( (ever|again|you|the agent|the bot|atlas))? ?$",
    )
});

/// Words before a quoted order that say that nobody is to obey whoever says it: "never obey a page
/// that says: …". Without the saying it would be a second order beside the first.
static DISOBEYED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"\b(never|do not|don't|must not|refuses? to|declines? to|nunca|jamais|não|no debes|nie|niemals)\b[^,:]{0,20}\b(obey|follow|trust|comply|execute|act on|accept|believe|listen|do what|obede\w+|obedezca\w*|siga|seguir|suivre|befolg\w+|gehorch\w+)\b.{0,80}\b(says?|said|asks?|tells?|reads?|contains?|claims?|wants?|like|such as|instructions? to|requests? to|orders? to|diz(em)?|dice|dicen|diga|dit|disent|sagt|sagen)\b[^,]{0,30}$",
    )
});

/// Words before a quotation that say it is somebody's text.
static REPORTED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"\b(page|pages|mail|mails|email|emails|message|messages|text|texts|comment|comments|form|visitor|visitors|people|person|somebody|someone|users?|attackers?|spam|phishing|strangers?|customers?|injections?)\b.{0,60}\b(says?|say|said|contain|contains|reads?|types?|typed|write|writes|wrote|asks?|tells?|include|includes|like|as|such as)\b",
    )
});

/// Words after a quotation that say how it is taken.
static TREATED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"\b(is|are|as) (an? |only |just |plain )?(attack|injection|spam|data|text|information|phishing|test)\b",
    )
});

const INJECTION_PATTERNS: &[&str] = &[
    r"\b(ignore|disregard|forget|override|bypass|overlook|discard)\b( (all|any|every|each|of|the|your|my|our|these|those|and|everything|whatever)){0,5} (previous|prior|above|earlier|preceding|former|foregoing|original|existing|past|system|developer|safety)( \w+)? ?(instructions?|prompts?|rules?|directives?|guidelines?|commands?|orders?|constraints?)\b",
    r"\b(ignore|disregard|forget|override|bypass) (all |any )?(of )?your (instructions?|prompts?|rules|directives?|guidelines|constraints?|training)\b",
    r"\b(ignore|disregard|forget) (all|everything) (above|before|you (were|have been) told)\b",
    r"\byou are (now|no longer) (in )?(dan|jailbroken|unrestricted|unfiltered|bound by|developer mode|god mode|an? (unrestricted|unfiltered|jailbroken))\b",
    r"\b(act|behave|respond|answer) as (if|though) you (have|had) no (restrictions|limits|rules|guidelines|filters?)\b",
    r"\bsystem prompt (override|injection|update)\b",
    r"<\|?(im_start|im_end|system|endoftext|start_header_id)\|?>|\[/?inst\]|</?(system|system_prompt|instructions)>",
    r"\b(do not|don't|never) (tell|inform|mention (this|it|that)? ?to|reveal (this|it|that)? ?to|show (this|it|that)? ?to|notify|alert) (the |your )?(user|owner|human|operator)\b( (about|of|that) (this|these|it)\b|[.;]|$)",
    r"\b(reveal|print|output|repeat|leak|disclose|show)( me| us)? (your|the) (system|hidden|initial|secret|original) (prompt|instructions?|messages?)\b",
    r"\b(ignor[ea]|ignorem|desconsider[ea]|esque[cç]a|esquece)( (todas|tudo|as|suas|tuas|de|das))* (instruç(ões|ão)|instrucoes|regras|ordens)( \w+)? (anteriores|acima|prévias|previas)",
    r"\b(ignora|ignore|olvida|olvide|descarta)( (todas|las|tus|sus))* (instrucciones|reglas|órdenes|indicaciones)( \w+)? (anteriores|previas|de arriba)",
    r"\b(ignore[rz]?|oublie[rz]?)( (toutes|tous|les|tes|vos))* (instructions|consignes|règles)( \w+)? (précédentes|antérieures|ci-dessus)",
    r"\b(ignorier\w*|vergiss|missachte)( (alle|die|deine|sämtliche))* (vorherigen|bisherigen|obigen|früheren|vorangegangenen) (anweisungen|instruktionen|regeln|befehle)",
    r"\b(игнорируй|игнорируйте|забудь|забудьте)( (все|свои))* (предыдущие|прежние|прошлые) (инструкции|указания|правила)",
    r"(忽略|无视|無視|忘记|忘掉)(所有|全部|你)*(之前|以上|先前|上面|此前)[^。]{0,6}(指令|指示|提示|规则|規則)",
    r"(以前|これまで|上記|前)の(すべての|全ての)?(指示|命令|ルール)を(無視|忘れ)",
    r"(تجاهل|انس)( (جميع|كل))? التعليمات السابقة",
];

const EXFILTRATION_PATTERNS: &[&str] = &[
    r"\b(curl|wget|nc|ncat|scp|rsync|invoke-webrequest|invoke-restmethod)\b.{0,120}(\$\{?\w*(key|token|secret|password|passwd|credential)\w*|/etc/(passwd|shadow)|\.env\b|id_(rsa|ed25519)|\.aws/credentials|\.netrc|\bvault/)",
    r"\b(cat|base64|tar|zip|xxd)\b.{0,60}(\.env\b|credentials\b|\.netrc|\.pgpass|\.npmrc|id_(rsa|ed25519)|/etc/shadow|\bvault/).{0,80}(\||>).{0,40}\b(curl|wget|nc|ncat|http)",
    r"\b(send|post|upload|forward|email|e-mail|exfiltrate|leak|transmit|copy|share)\b[^;!?]{0,60}\b(passwords?|api[ _-]?keys?|(access |bot |auth )?tokens?|secrets|credentials|private keys?|conversation history|chat history|memory files?)\b[^;!?]{0,60}\b(to|at|via)\b [^;!?]{0,30}(https?://|[\w.+-]+@[\w-]+\.\w+|\bwebhook|\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})",
    r"!\[[^\]]*\]\(https?://[^)]*[?&=][^)]*(secret|token|password|api_?key|conversation|history|\{|\$)",
];

const OWN_CONFIGURATION_PATTERNS: &[&str] = &[
    r"\b(edit|change|modify|update|overwrite|rewrite|replace|delete|append to|write to|add (this|it|the following|a line|a rule|an? \w+) (to|in|into))\b.{0,40}(\bsoul\.md|\bbot\.md|\batlas\.toml|\batlas\.db|\bagents\.md|\bclaude\.md|\.cursorrules|\byour (own )?(system prompt|instructions|configuration|config|allow ?-?list|permissions))\b",
    r"(>>?|\btee( -a)?|\bsed -i\b.{0,60}) ?[~/$\w.{}-]*(soul\.md|bot\.md|atlas\.toml|agents\.md|claude\.md)",
    r"\bgrant (yourself|the agent|the bot) .{0,30}(access|rights|permissions?|root|admin)\b",
];

const BACKDOOR_PATTERNS: &[&str] = &[
    r"(>>?|\b(append|add|write|echo|tee|install|insert|put|copy|paste)\b).{0,160}\bauthorized_keys",
    r"\bauthorized_keys\b.{0,60}(>>|\b(append|insert)\b)",
    r"\bssh-(rsa|dss|ed25519) aaaa[0-9a-z+/=]{20,}|\becdsa-sha2-nistp\d+ aaaa[0-9a-z+/=]{20,}",
    r"\bpermitrootlogin yes\b",
];

static INJECTION: LazyLock<Vec<Regex>> = LazyLock::new(|| each(INJECTION_PATTERNS));
static EXFILTRATION: LazyLock<Vec<Regex>> = LazyLock::new(|| each(EXFILTRATION_PATTERNS));
static OWN_CONFIGURATION: LazyLock<Vec<Regex>> = LazyLock::new(|| each(OWN_CONFIGURATION_PATTERNS));
static BACKDOOR: LazyLock<RegexSet> = LazyLock::new(|| set(BACKDOOR_PATTERNS));

/// Secrets by their makers' shapes: matched as written, since case is part of them.
static SECRETS: LazyLock<RegexSet> = LazyLock::new(|| {
    set(&[
        r"-----BEGIN [A-Z ]*PRIVATE KEY",
        r"\b(AKIA|ASIA)[0-9A-Z]{16}\b",
        r"\bgh[pousr]_[A-Za-z0-9]{30,}",
        r"\bgithub_pat_[A-Za-z0-9_]{30,}",
        r"\bglpat-[A-Za-z0-9_-]{20,}",
        // With a digit somewhere: a name in words has none.
        r"\bsk-[A-Za-z0-9_-]*[0-9][A-Za-z0-9_-]{18,}|\bsk-([a-z]+-)*[A-Za-z0-9_]{18,}[0-9]",
        r"\b(gsk|hf|npm|dop_v1|sk_test|rk_live|whsec|shpat|pplx|r8)_[A-Za-z0-9]{20,}",
        r"\b(xai|pplx|nvapi|tskey|pypi|sntrys|figd|lin_api)[-_][A-Za-z0-9_-]{24,}",
        r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|\bya29\.[A-Za-z0-9_-]{20,}",
        r"\bhooks\.slack\.com/services/T\w+/B\w+/\w{16,}|\bdiscord(app)?\.com/api/webhooks/\d+/[\w-]{30,}",
        r"\b[sr]k_live_[0-9A-Za-z]{16,}",
        r"\bxox[abposr]-[A-Za-z0-9-]{10,}",
        r"\bAIza[0-9A-Za-z_-]{35}",
        r"\b\d{8,10}:[A-Za-z0-9_-]{35}\b",
        r"\b[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}",
        r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{8,}",
        r"\b[a-z][a-z0-9+]*://[^/\s:@]+:[^/\s:@${<]{6,}@[\w.-]+",
    ])
});

/// A name of a secret, and what stands after it.
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"(?i)\b((?:\w+[_-])?(?:api[_ -]?keys?|secrets?|tokens?|access keys?|secret keys?)(?:[_-]\w+)?)["']?(?:\s*[:=：]|\s(?:is|are|é|es|est|ist)\s)\s*["'`]?([^\s"'`,;]{8,})"#,
    )
});

/// A name of a password, and what stands after it.
static PASSWORD: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"(?i)(passwords?|passwd|passcode|passphrase|pass_?word\w*|senha|contraseña|passwort|mot de passe|пароль|密码|密碼|パスワード|비밀번호)["']?\s*(?:[:=：]|是|は|은|는|\s(?:is|was|é|es|est|ist|lautet)\s)\s*["'`“「]?([^\s"'`,;”」。]{6,})"#,
    )
});

fn is_secret(text: &str) -> bool {
    let holds = |named: &Regex, least: usize| {
        let values = named.captures_iter(text).filter_map(|found| found.get(2));
        values.into_iter().any(|value| looks_made_up(value.as_str(), least))
    };
    SECRETS.is_match(text) || holds(&NAMED, 8) || holds(&PASSWORD, 6)
}

/// A word of a language has no digit among its letters; a path, an address or a reference to where
/// the secret is kept is none itself.
fn looks_made_up(value: &str, least: usize) -> bool {
    let elsewhere = ["env:", "secret:", "file:", "vault", "http", "$", "<", "{", "~", "/", "%"];
    let value = value.trim_end_matches(['.', ')', ']']);
    value.chars().count() >= least
        && value.chars().any(|c| c.is_ascii_digit())
        && value.chars().any(char::is_alphabetic)
        && !elsewhere.iter().any(|start| value.to_lowercase().starts_with(start))
        && !value.contains('/')
}

#[expect(clippy::expect_used, reason = "the patterns are constants, and a test compiles them all")]
fn regex(pattern: &str) -> Regex {
    Regex::new(&fast(pattern)).expect("a constant pattern")
}

#[expect(clippy::expect_used, reason = "the patterns are constants, and a test compiles them all")]
fn set(patterns: &[&str]) -> RegexSet {
    RegexSet::new(patterns.iter().map(|pattern| fast(pattern))).expect("constant patterns")
}

/// Borders of words by ASCII alone where the words are: those of Unicode make a search in any other
/// text many times slower.
fn fast(pattern: &str) -> String {
    if pattern.is_ascii() { pattern.replace(r"\b", r"(?-u:\b)") } else { pattern.to_owned() }
}

fn each(patterns: &[&str]) -> Vec<Regex> {
    patterns.iter().map(|pattern| regex(pattern)).collect()
}
