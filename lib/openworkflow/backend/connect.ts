/** The backend on DynamoDB: the one file here that names it. */
import { randomUUID } from 'node:crypto';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoPolledRuns } from '../../aws/polled-runs.ts';
import { SystemClock } from '../../aws/system-clock.ts';
import { Table } from '../../aws/table.ts';
import { PolledBackend } from './backend.ts';
import type { BackendParts } from './parts.ts';

export interface ConnectOptions {
  /** the Runs table of an installation, or any table with the text keys `pk` and `sk` that forgets by `ttl` */
  readonly tableName: string;
  /** Namespaces share nothing. `default` */
  readonly namespaceId?: string;
  /** with a region and credentials of its own; absent: those of the environment */
  readonly client?: DynamoDBClient;
}

/** A `Backend` for `new OpenWorkflow({ backend })` of the package `openworkflow`. */
export class BackendStepwell extends PolledBackend {
  readonly #release: () => void;

  private constructor(parts: BackendParts, namespaceId: string, release: () => void) {
    super(parts, namespaceId);
    this.#release = release;
  }

  static connect({ tableName, namespaceId = 'default', client }: ConnectOptions): BackendStepwell {
    const used = client ?? new DynamoDBClient({ maxAttempts: 3 });
    const store = new DynamoPolledRuns(new Table(used, tableName));
    const clock = new SystemClock();
    const pause = clock.sleep.bind(clock);
    const parts = { store, clock, pause, newId: randomUUID, chance: Math.random };
    return new BackendStepwell(parts, namespaceId, () => {
      if (client === undefined) used.destroy();
    });
  }

  /** A client that was given is not closed. */
  override async stop(): Promise<void> {
    this.#release();
  }
}
