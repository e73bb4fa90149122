/** The process around the command line, so that a test can be one. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly writeOut: (text: string) => void;
  readonly writeErr: (text: string) => void;
  /** stdout is a terminal */
  readonly supportsColour: boolean;
  /** somebody sits there who can be asked */
  readonly isInteractive: boolean;
  readonly promptConfirm: (question: string) => Promise<boolean>;
  /** A line that is typed. */
  readonly promptText: (question: string) => Promise<string>;
  readonly openInBrowser: (url: string) => void;
  /** aborted by Ctrl-C */
  readonly signal: AbortSignal;
  readonly fetch: (url: string, init?: RequestInit) => Promise<Response>;
  /** of the epoch, in milliseconds */
  readonly now: () => number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly newId: () => string;
}
