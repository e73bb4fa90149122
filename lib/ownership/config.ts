/** `stepwell.config.json`: where runs execute, and the service's address. It contains the name of the key's variable, never the key. */
import * as z from 'zod';

/** Upper bounds of times and retries, which catch typing errors. */
const maxTimeoutMs = 600_000;
const maxRetries = 10;

const address = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
  .refine((text) => !URL.canParse(text) || isPlain(new URL(text)), 'must be without user, query and fragment');
const isPlain = ({ username, password, search, hash }: URL): boolean => `${username}${password}${search}${hash}` === '';

const fallbackLocalMessage =
  'must be "error": "fallback-local" could execute a run twice, because after a timeout the service may already have started it';

const execution = z.strictObject({
  mode: z.enum(['local', 'remote'], 'must be "local" or "remote"').default('local'),
  remoteWorkerUrl: address.exactOptional(),
  apiKeyEnv: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'must be the name of an environment variable, not a key')
    .default('WORKFLOW_COMPUTE_API_KEY'),
  timeoutMs: z.int().min(1).max(maxTimeoutMs).default(10_000),
  retries: z.int().min(0).max(maxRetries).default(2),
  failPolicy: z.literal('error', fallbackLocalMessage).default('error'),
});

const config = z
  .strictObject({
    url: address.exactOptional(),
    execution: execution.prefault({}),
    remoteWorldTarget: z.string().min(1).max(256).exactOptional(),
    // For projects of code workflows; `stepwell build` validates it.
    dirs: z.unknown().optional(),
    ignorePatterns: z.unknown().optional(),
    worker: z.unknown().optional(),
    profile: z.unknown().optional(),
  })
  .refine(({ execution: { mode, remoteWorkerUrl }, url }) => mode === 'local' || (remoteWorkerUrl ?? url) !== undefined, {
    path: ['execution', 'remoteWorkerUrl'],
    error: 'is required in remote mode, where there is no url',
  });

export type Config = z.output<typeof config>;

interface ConfigError {
  /** a JSON pointer */
  readonly pointer: string;
  readonly message: string;
}

export type ReadConfigResult =
  | { readonly kind: 'valid'; readonly config: Config }
  | { readonly kind: 'invalid'; readonly errors: readonly ConfigError[] };

/** @param value the parsed file; each error is returned with its pointer */
export const readConfig = (value: unknown): ReadConfigResult => {
  const read = config.safeParse(value);
  if (read.success) return { kind: 'valid', config: read.data };
  const errors = read.error.issues.flatMap((issue): readonly ConfigError[] => {
    const pointer = issue.path.map((part) => `/${String(part)}`).join('');
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((key) => ({ pointer: `${pointer}/${key}`, message: 'is not a known setting' }));
    return [{ pointer: pointer === '' ? '/' : pointer, message: issue.message }];
  });
  return { kind: 'invalid', errors };
};

/** The service's URL for the application. */
export const serviceUrlOf = ({ url, execution: { remoteWorkerUrl } }: Config): string | undefined => remoteWorkerUrl ?? url;
