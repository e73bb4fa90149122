/** Creates the backend on DynamoDB and checks its settings first. Only this file imports the DynamoDB client. */
import { randomUUID } from 'node:crypto';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { clientRetryConfig } from '../../aws/client-config.ts';
import { DynamoExternalRuns } from '../../aws/external-runs.ts';
import { settingsErrorOf } from '../../aws/settings-error.ts';
import { SystemClock } from '../../aws/system.ts';
import { Table } from '../../aws/table.ts';
import { type RetryLimits, retry } from '../../base/retry.ts';
import { defaultNamespace } from '../../engine/external/namespace.ts';
import { durationMs } from '../../engine/time.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { ExternalRunsBackend } from './backend.ts';
import { BackendError } from './backend-error.ts';
import type { BackendDeps } from './deps.ts';

export interface ConnectOptions {
  /** the Runs table of an installation, or any table with the text keys `pk` and `sk` and TTL by the attribute `ttl` */
  readonly tableName: string;
  /**
   * Namespaces share no data. The API shows the runs of a namespace `<project>/<environment>` to the keys of that project and
   * environment. Default: `default/production`
   */
  readonly namespaceId?: string;
  /** with its own region and credentials; default: those of the environment */
  readonly client?: DynamoDBClient;
  /** receives a line when the table stops responding, and one when it responds again; default: a process warning */
  readonly warn?: (line: string) => void;
}

/** All slots wait for one poll, so a request without a response must time out soon. */
const requestTimeoutMs = 2_000;
/** The SDK itself makes up to three attempts for each call. */
const connectLimits: RetryLimits = { attempts: 5, backoff: { baseMs: 250 } };

/** A `Backend` for `new OpenWorkflow({ backend })` of the package `openworkflow`. */
export class BackendStepwell extends ExternalRunsBackend {
  readonly #release: () => void;

  private constructor(deps: BackendDeps, namespaceId: string, release: () => void) {
    super(deps, namespaceId);
    this.#release = release;
  }

  /** @throws BackendError with a code and instructions, where a setting is wrong or the table does not respond */
  static async connect({
    tableName,
    namespaceId = defaultNamespace,
    client,
    warn = emitWarning,
  }: ConnectOptions): Promise<BackendStepwell> {
    const activeClient = client ?? new DynamoDBClient(clientRetryConfig(requestTimeoutMs));
    const release = (): void => {
      if (client === undefined) activeClient.destroy();
    };
    const store = withSettingsErrors(new DynamoExternalRuns(new Table(activeClient, tableName)), tableName);
    const clock = new SystemClock();
    try {
      await connectWithRetry(() => store.check(namespaceId, clock.now()), tableName, clock, warn);
    } catch (error) {
      release();
      throw error;
    }
    const sleep = clock.sleep.bind(clock);
    return new BackendStepwell({ store, clock, sleep, warn, newId: randomUUID, random: Math.random }, namespaceId, release);
  }

  /** A client that the caller gave is not closed. */
  override async stop(): Promise<void> {
    this.#release();
  }
}

const emitWarning = (line: string): void => process.emitWarning(line, { type: 'StepwellBackend' });

async function connectWithRetry(check: () => Promise<void>, tableName: string, clock: SystemClock, warn: (line: string) => void) {
  const startedAt = clock.now();
  const { attempts } = connectLimits;
  try {
    await retry(
      check,
      {
        ...connectLimits,
        isRetryable: (error) => error instanceof Unavailable,
        onRetry: (error, failedAttempt) => {
          if (failedAttempt === 1)
            warn(`Table ${tableName} does not respond (${reasonOf(error)}). The connection is retried up to ${attempts} times.`);
        },
      },
      { sleep: (ms) => clock.sleep(durationMs(ms)) },
    );
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    const elapsedSeconds = ((clock.now() - startedAt) / 1_000).toFixed(1);
    const message = `Table ${tableName} did not respond to ${attempts} attempts in ${elapsedSeconds} s (${reasonOf(error)}). Check AWS_REGION, AWS_ENDPOINT_URL and the network.`;
    throw new BackendError('unreachable', message, { cause: error });
  }
}

/** The SDK's error says more than `Unavailable`. */
const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.cause.name}: ${error.cause.message}` : error.message;
};

/** The store, with errors that say which setting is wrong. */
const withSettingsErrors = (store: DynamoExternalRuns, tableName: string): DynamoExternalRuns =>
  new Proxy(store, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      return async (...args: readonly unknown[]): Promise<unknown> => {
        try {
          return await Reflect.apply(method, target, args);
        } catch (error) {
          const settingsError = settingsErrorOf(error);
          if (settingsError === undefined) throw error;
          throw new BackendError(settingsError.code, `Table ${tableName}: ${settingsError.message}`, { cause: error });
        }
      };
    },
  });
