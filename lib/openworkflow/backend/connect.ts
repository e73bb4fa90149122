/** The backend on DynamoDB: the one file here that names its client. It is checked before it is used. */
import { randomUUID } from 'node:crypto';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { patience } from '../../aws/patience.ts';
import { DynamoPolledRuns } from '../../aws/polled-runs.ts';
import { settingsFaultOf } from '../../aws/settings-fault.ts';
import { SystemClock } from '../../aws/system-clock.ts';
import { Table } from '../../aws/table.ts';
import { durationMs } from '../../engine/time.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { PolledBackend } from './backend.ts';
import { BackendFault } from './fault.ts';
import type { BackendParts } from './parts.ts';

export interface ConnectOptions {
  /** the Runs table of an installation, or any table with the text keys `pk` and `sk` that forgets by `ttl` */
  readonly tableName: string;
  /** Namespaces share nothing. `default` */
  readonly namespaceId?: string;
  /** with a region and credentials of its own; absent: those of the environment */
  readonly client?: DynamoDBClient;
  /** gets a line when the table stops answering, and one when it answers again; absent: a warning of the process */
  readonly warn?: (line: string) => void;
}

/** All slots wait for one poll: a request that nobody answers must not hold them. */
const answerWithinMs = 2_000;
/** The SDK tries each call three times besides. */
const connectTries = 5;
const firstWaitMs = 250;

/** A `Backend` for `new OpenWorkflow({ backend })` of the package `openworkflow`. */
export class BackendStepwell extends PolledBackend {
  readonly #release: () => void;

  private constructor(parts: BackendParts, namespaceId: string, release: () => void) {
    super(parts, namespaceId);
    this.#release = release;
  }

  /** @throws BackendFault where a setting is wrong, with its code and what to do, or where the table does not answer */
  static async connect({ tableName, namespaceId = 'default', client, warn = warned }: ConnectOptions): Promise<BackendStepwell> {
    const used = client ?? new DynamoDBClient(patience(answerWithinMs));
    const release = (): void => {
      if (client === undefined) used.destroy();
    };
    const store = withFaults(new DynamoPolledRuns(new Table(used, tableName)), tableName);
    const clock = new SystemClock();
    try {
      await answered(() => store.check(namespaceId, clock.now()), tableName, clock, warn);
    } catch (error) {
      release();
      throw error;
    }
    const pause = clock.sleep.bind(clock);
    return new BackendStepwell({ store, clock, pause, warn, newId: randomUUID, chance: Math.random }, namespaceId, release);
  }

  /** A client that was given is not closed. */
  override async stop(): Promise<void> {
    this.#release();
  }
}

const warned = (line: string): void => process.emitWarning(line, { type: 'StepwellBackend' });

async function answered(ask: () => Promise<void>, tableName: string, clock: SystemClock, warn: (line: string) => void) {
  const startedAt = clock.now();
  for (let tries = 1; ; tries += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      const why = error.cause instanceof Error ? `${error.cause.name}: ${error.cause.message}` : error.message;
      if (tries === connectTries) {
        const lasted = ((clock.now() - startedAt) / 1_000).toFixed(1);
        const message = `Table ${tableName} did not answer ${tries} times in ${lasted} s (${why}). Check AWS_REGION, AWS_ENDPOINT_URL and the network.`;
        throw new BackendFault('unreachable', message, { cause: error });
      }
      if (tries === 1) warn(`Table ${tableName} does not answer (${why}). It is asked up to ${connectTries} times.`);
      await clock.sleep(durationMs(firstWaitMs * 2 ** (tries - 1)));
    }
  }
}

/** The store, whose refusals say which setting is wrong. */
const withFaults = (store: DynamoPolledRuns, tableName: string): DynamoPolledRuns =>
  new Proxy(store, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      return async (...given: readonly unknown[]): Promise<unknown> => {
        try {
          return await Reflect.apply(method, target, given);
        } catch (error) {
          const fault = settingsFaultOf(error);
          if (fault === undefined) throw error;
          throw new BackendFault(fault.code, `Table ${tableName}: ${fault.message}`, { cause: error });
        }
      };
    },
  });
