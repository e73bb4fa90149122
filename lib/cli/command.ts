/**
 * What a command is. A file in commands/ exports `register`: names, descriptions and options, and nothing heavy, for all of
 * them are loaded to print `--help`. What a command does is imported when it is called.
 */
import type { Command } from 'commander';
import type { StepwellClient } from '../client/index.ts';

/** What the process ends with; told in docs/CLI.md. */
export const exitCodes = {
  ok: 0,
  /** the service refused, the run failed, a check failed */
  failed: 1,
  /** there are warnings and nothing worse */
  warned: 2,
  /** the command line cannot be meant so */
  usage: 3,
  /** no answer came */
  unreachable: 4,
  interrupted: 130,
} as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** What a command comes to. That a run failed is an outcome; that the service refused is thrown. */
export interface Outcome {
  /** JSON: what `--json` prints as `data` */
  readonly data: unknown;
  /** what a person reads instead; empty: nothing, or it was said on the way */
  readonly text: string;
  /** 0 unless it says otherwise */
  readonly exitCode?: ExitCode;
}

/** The command line as it was written; each action parses what it takes. */
export interface CommandLine {
  readonly args: readonly string[];
  /** the command's own and those of all commands: `url`, `profile`, `json`, `color` */
  readonly options: Readonly<Record<string, unknown>>;
}

/** Where requests go, and who said so. */
export interface Connection {
  readonly url: string;
  /** undefined: none was found */
  readonly apiKey: string | undefined;
  /** in words, such as `the profile prod` */
  readonly source: string;
  /** what is wrong with how it is kept, such as a file that others may read */
  readonly warnings: readonly string[];
}

/** Where a command would go, where neither the command line nor the environment says so. The first call decides. */
export interface ConnectionPreference {
  /** the project's own, before the one in use */
  readonly profile?: string | undefined;
  /** only the embedded cloud: what is tried out on every change goes nowhere else unasked */
  readonly isEmbedded?: boolean;
}

export type Tone = 'good' | 'bad' | 'warn' | 'dim' | 'bold';

/** What an action has of the world. */
export interface CommandContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly isJson: boolean;
  /** aborted by Ctrl-C */
  readonly signal: AbortSignal;
  readonly fetch: (url: string, init?: RequestInit) => Promise<Response>;
  /** of the epoch, in milliseconds */
  readonly now: () => number;
  /** ends early, without an error, once the signal is aborted */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly newId: () => string;
  /** undefined where nobody would see it */
  readonly openInBrowser: ((url: string) => void) | undefined;
  /** For people, on stdout; with `--json` nothing. */
  readonly print: (line: string) => void;
  /** Progress and warnings, on stderr. */
  readonly log: (line: string) => void;
  /** Coloured where colour is wanted; the text must say it all without. */
  readonly colorize: (tone: Tone, text: string) => string;
  /** Asks on stderr. @throws CliError where there is nobody to ask */
  readonly confirm: (question: string) => Promise<boolean>;
  /** What is typed as an answer, on stderr. @throws CliError where there is nobody to ask: `option` says it instead */
  readonly promptText: (question: string, option: string) => Promise<string>;
  /** `--url`, the environment, the profile, or the embedded cloud of this folder. @throws CliError where there is none */
  readonly connection: (preferred?: ConnectionPreference) => Promise<Connection>;
  /** A client for that connection. @throws CliError without a key */
  readonly client: (preferred?: ConnectionPreference) => Promise<StepwellClient>;
}

export type Action = (commandLine: CommandLine, context: CommandContext) => Promise<Outcome>;

/** Makes commander's handler of an action: `.action(act(async () => (await import('../runs/list-runs.ts')).listRuns))`. */
export type CreateHandler = (load: () => Promise<Action>) => (this: Command) => Promise<void>;

/** @param parent the program, or the command that this one belongs to */
export type Register = (parent: Command, createHandler: CreateHandler) => void;

/** An end that a command foresees: printed in one line, or as `error` of `--json`. */
export class CliError extends Error {
  override readonly name = 'CliError';
  /** for programs, in the form of the service's codes */
  readonly code: string;
  readonly exitCode: ExitCode;

  constructor(code: string, message: string, exitCode: ExitCode = exitCodes.failed) {
    super(message);
    this.code = code;
    this.exitCode = exitCode;
  }
}

/** The command line cannot be meant so; the message names the argument. */
export const usageError = (message: string): CliError => new CliError('usage', message, exitCodes.usage);
