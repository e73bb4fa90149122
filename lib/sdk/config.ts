/** The type of `stepwell.config.ts`: where the workflows of a project are, and how they are deployed and run. */
export interface Config {
  /** Folders with workflows, relative to the configuration file. Default: `workflows`. */
  readonly dirs?: string | readonly string[];
  /** Files in these folders to ignore, such as `**\/drafts/**`. Tests (`*.test.ts`, `*.spec.ts`) are always ignored. */
  /** the app that deployments belong to; default: the `name` in package.json */
  readonly app?: string;
  readonly ignorePatterns?: readonly string[];
  readonly worker?: {
    /** workflow tasks that one process executes at once */
    readonly concurrency?: number;
  };
  /** Profile that `stepwell deploy` uses when neither the command line nor the environment names one. */
  readonly profile?: string;
}

/** Gives the configuration its type. The command line validates it. */
export const defineConfig = (config: Config): Config => config;
