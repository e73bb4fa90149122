/**
 * Types of commands and actions. A file in commands/ declares names, descriptions and options. It imports nothing heavy,
 * because `--help` loads all of them. A command imports its action when it is called.
 */
import type { Command } from 'commander';
import type { StepwellClient } from '../client/index.ts';

/** Exit codes of the process, documented in docs/CLI.md. */
export const exitCodes = {
  ok: 0,
  /** the service refused, the run failed, a check failed */
  failed: 1,
  /** warnings only */
  warned: 2,
  /** the command line is invalid */
  usage: 3,
  /** the service did not respond */
  unreachable: 4,
  interrupted: 130,
} as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** The result of a command. A failed run is an outcome; a refused request is thrown as an error. */
export interface Outcome {
  /** JSON: what `--json` prints as `data` */
  readonly data: unknown;
  /** what is printed without `--json`; empty: print nothing */
  readonly text: string;
  /** default: 0 */
  readonly exitCode?: ExitCode;
}

/** The unparsed command line. Each action parses its own arguments and options. */
export interface CommandLine {
  readonly args: readonly string[];
  /** the options of the command and the global ones: `url`, `profile`, `json`, `color` */
  readonly options: Readonly<Record<string, unknown>>;
}

/** The address and the key of an installation, and where they were configured. */
export interface Connection {
  readonly url: string;
  /** of the start API, from the same source; undefined: starts use `url` */
  readonly startUrl: string | undefined;
  /** undefined: none was found */
  readonly apiKey: string | undefined;
  /** for messages, such as `the profile prod` */
  readonly source: string;
  /** problems with how the key is stored, such as a file that others can read */
  readonly warnings: readonly string[];
}

/** The installation a command prefers when neither the command line nor the environment names one. The first call decides. */
export interface ConnectionPreference {
  /** the project's profile, which precedes the current profile */
  readonly profile?: string | undefined;
  /** use only the embedded cloud: `dev` deploys on every change, and must not deploy to another installation by default */
  readonly isEmbedded?: boolean;
}

export type Tone = 'good' | 'bad' | 'warn' | 'dim' | 'bold';

/** What an action uses of its process: environment, output, prompts, network and time. */
export interface CommandContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly isJson: boolean;
  /** aborted by Ctrl-C */
  readonly signal: AbortSignal;
  readonly fetch: (url: string, init?: RequestInit) => Promise<Response>;
  /** milliseconds since the epoch */
  readonly now: () => number;
  /** resolves early, without an error, when the signal is aborted */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly newId: () => string;
  /** Reads stdin to its end. @throws after Ctrl-C */
  readonly readInput: () => Promise<string>;
  /** undefined in a non-interactive terminal */
  readonly openInBrowser: ((url: string) => void) | undefined;
  /** Prints a line on stdout; prints nothing with `--json`. */
  readonly print: (line: string) => void;
  /** Prints a value on one line of stdout with `--json`; prints nothing without it. */
  readonly printJsonLine: (value: unknown) => void;
  /** Prints progress or a warning on stderr. */
  readonly log: (line: string) => void;
  /** Adds colour if the output supports it. The text must be complete without colour. */
  readonly colorize: (tone: Tone, text: string) => string;
  /** Asks a yes/no question on stderr. @throws CliError in a non-interactive terminal */
  readonly confirm: (question: string) => Promise<boolean>;
  /** Asks for a line of text on stderr. @throws CliError in a non-interactive terminal; the message names `option` */
  readonly promptText: (question: string, option: string) => Promise<string>;
  /** Resolves the installation, see connection.ts. @throws CliError if none is configured */
  readonly connection: (preferred?: ConnectionPreference) => Promise<Connection>;
  /** Creates a client for that connection. @throws CliError if there is no key */
  readonly client: (preferred?: ConnectionPreference) => Promise<StepwellClient>;
}

export type Action = (commandLine: CommandLine, context: CommandContext) => Promise<Outcome>;

/** Wraps an action for commander: `.action(createHandler(async () => (await import('../actions/runs.ts')).listRuns))`. */
export type CreateHandler = (load: () => Promise<Action>) => (this: Command) => Promise<void>;

/** @param parent the program, or the parent command */
export type Register = (parent: Command, createHandler: CreateHandler) => void;

/** Waits. @throws the reason of Ctrl-C */
export const pause = async ({ sleep, signal }: Pick<CommandContext, 'sleep' | 'signal'>, ms: number): Promise<void> => {
  await sleep(ms, signal);
  signal.throwIfAborted();
};

/** An expected error of a command. It is printed without a stack, or as `error` with `--json`. */
export class CliError extends Error {
  override readonly name = 'CliError';
  /** stable code, in the same form as the error codes of the API */
  readonly code: string;
  readonly exitCode: ExitCode;

  constructor(code: string, message: string, exitCode: ExitCode = exitCodes.failed) {
    super(message);
    this.code = code;
    this.exitCode = exitCode;
  }
}

/** The key may see the run, and not its data. */
export const payloadsHiddenError = (what: string): CliError =>
  new CliError('missing_scope', `The key lacks payloads:read, so ${what} is hidden. Use a key that has it.`);

/** The command line is invalid. The message must name the argument or option. */
export const usageError = (message: string): CliError => new CliError('usage', message, exitCodes.usage);

/** The process that the command line runs in. Tests replace it. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly writeOut: (text: string) => void;
  readonly writeErr: (text: string) => void;
  /** stdout is a terminal */
  readonly supportsColour: boolean;
  /** stdin and stderr are terminals, so prompts work */
  readonly isInteractive: boolean;
  readonly promptConfirm: (question: string) => Promise<boolean>;
  /** Reads one typed line. */
  readonly promptText: (question: string) => Promise<string>;
  readonly openInBrowser: (url: string) => void;
  /** Reads stdin to its end. @throws after Ctrl-C */
  readonly readInput: () => Promise<string>;
  /** aborted by Ctrl-C */
  readonly signal: AbortSignal;
  readonly fetch: (url: string, init?: RequestInit) => Promise<Response>;
  /** milliseconds since the epoch */
  readonly now: () => number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly newId: () => string;
}
