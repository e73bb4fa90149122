/** `stepwell.config.json`: where runs are carried out, and how it is reached. It names a key's variable and never holds a key. */
import * as z from 'zod';

/** Times and tries beyond these are slips of the pen. */
const maxTimeoutMs = 600_000;
const maxRetries = 10;

const address = z
  .url({ protocol: /^https?$/, error: 'must be an address of http or https' })
  .refine((text) => !URL.canParse(text) || isPlain(new URL(text)), 'must be without user, query and fragment');
const isPlain = ({ username, password, search, hash }: URL): boolean => `${username}${password}${search}${hash}` === '';

const fallbackLocalMessage =
  'must be "error": "fallback-local" could carry out a run twice, for after a time-out nobody knows whether the service has begun';

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
    // Of a project of code workflows, and judged by whoever builds it.
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

/** @param value as the file says it; every fault is told with its place */
export const readConfig = (value: unknown): ReadConfigResult => {
  const read = config.safeParse(value);
  if (read.success) return { kind: 'valid', config: read.data };
  const errors = read.error.issues.flatMap((issue): readonly ConfigError[] => {
    const pointer = issue.path.map((part) => `/${String(part)}`).join('');
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((key) => ({ pointer: `${pointer}/${key}`, message: 'is not known here' }));
    return [{ pointer: pointer === '' ? '/' : pointer, message: issue.message }];
  });
  return { kind: 'invalid', errors };
};

/** Where the service is that the application uses. */
export const serviceUrlOf = ({ url, execution: { remoteWorkerUrl } }: Config): string | undefined => remoteWorkerUrl ?? url;
