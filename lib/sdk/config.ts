/** `stepwell.config.ts`: where the workflows of a project are, and where they go. */
export interface Config {
  /** Folders with workflows, from the configuration's own. Default: `workflows`. */
  readonly dirs?: string | readonly string[];
  /** Files in them that are none, such as `**\/drafts/**`, from the same folder. Tests (`*.test.ts`, `*.spec.ts`) are none anyway. */
  readonly ignorePatterns?: readonly string[];
  readonly worker?: {
    /** runs that one process drives at once */
    readonly concurrency?: number;
  };
  /** The profile whose installation `stepwell deploy` speaks to where the command line and the environment name none. */
  readonly profile?: string;
}

/** Says what a configuration may have, while it is written. It is read and judged by the command line. */
export const defineConfig = (config: Config): Config => config;
