/**
 * The World of the Workflow DevKit as this package offers it: the union of what its version lines call. Entities and events pass through
 * as the service sends them, so their types are the SDK's.
 */
interface Pagination {
  readonly limit?: number;
  readonly cursor?: string;
  readonly sortOrder?: 'asc' | 'desc';
}

export interface ReadOptions {
  readonly resolveData?: 'all' | 'none';
}

interface ListOptions extends ReadOptions {
  readonly runId?: string;
  readonly pagination?: Pagination;
}

export type Chunk = string | Uint8Array;

export interface ChunkPage {
  readonly data: readonly { readonly index: number; readonly data: Uint8Array }[];
  readonly cursor: string | null;
  readonly hasMore: boolean;
  readonly done: boolean;
}

export interface ChunkOptions {
  readonly limit?: number;
  readonly cursor?: string;
}

export interface StreamPosition {
  /** -1 without chunks */
  readonly tailIndex: number;
  readonly done: boolean;
}

interface BatchEvent {
  readonly event: object;
  readonly occurredAt?: Date;
  readonly computeInstanceId?: string;
}

interface PublishOptions {
  readonly deploymentId?: string;
  readonly idempotencyKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly delaySeconds?: number;
  readonly specVersion?: number;
}

export interface DeliveryMeta {
  /** from 1 */
  readonly attempt: number;
  readonly queueName: string;
  readonly messageId: string;
}

export type MessageHandler = (message: unknown, meta: DeliveryMeta) => Promise<unknown>;

export interface WorldStorage {
  readonly runs: {
    get(runId: string, options?: ReadOptions): Promise<unknown>;
    list(options?: ListOptions & { readonly workflowName?: string; readonly status?: string }): Promise<unknown>;
  };
  readonly steps: {
    get(runId: string | undefined, stepId: string, options?: ReadOptions): Promise<unknown>;
    list(options: ListOptions): Promise<unknown>;
  };
  readonly events: {
    create(runId: string | null, data: object, params?: object): Promise<unknown>;
    createBatch(runId: string, events: readonly BatchEvent[], params?: object): Promise<unknown>;
    get(runId: string, eventId: string, options?: ReadOptions): Promise<unknown>;
    list(options: ListOptions): Promise<unknown>;
    listByCorrelationId(options: ListOptions & { readonly correlationId: string }): Promise<unknown>;
  };
  readonly hooks: {
    get(hookId: string, options?: ReadOptions): Promise<unknown>;
    getByToken(token: string, options?: ReadOptions): Promise<unknown>;
    list(options: ListOptions): Promise<unknown>;
  };
}

/** Version 5 names the run first. */
export interface WorldStreams {
  write(runId: string, name: string, chunk: Chunk): Promise<void>;
  writeMulti(runId: string, name: string, chunks: readonly Chunk[]): Promise<void>;
  close(runId: string, name: string): Promise<void>;
  get(runId: string, name: string, startIndex?: number): Promise<ReadableStream<Uint8Array>>;
  list(runId: string): Promise<readonly string[]>;
  getChunks(runId: string, name: string, options?: ChunkOptions): Promise<ChunkPage>;
  getInfo(runId: string, name: string): Promise<StreamPosition>;
}

/** Version 4 names the stream first, and reads it without its run. */
export interface FlatStreamer {
  writeToStream(name: string, runId: string, chunk: Chunk): Promise<void>;
  writeToStreamMulti(name: string, runId: string, chunks: readonly Chunk[]): Promise<void>;
  closeStream(name: string, runId: string): Promise<void>;
  readFromStream(name: string, startIndex?: number): Promise<ReadableStream<Uint8Array>>;
  listStreamsByRunId(runId: string): Promise<readonly string[]>;
  getStreamChunks(name: string, runId: string, options?: ChunkOptions): Promise<ChunkPage>;
  getStreamInfo(name: string, runId: string): Promise<StreamPosition>;
}

interface WorldQueue {
  readonly getDeploymentId: () => Promise<string>;
  readonly queue: (
    queueName: string,
    message: object,
    options?: PublishOptions,
  ) => Promise<{ readonly messageId: string | null }>;
  readonly createQueueHandler: (prefix: string, handler: MessageHandler) => (request: Request) => Promise<Response>;
}

export interface WorldCapabilities {
  /** `events.create` commits one `hook_received` for a `resumeId` */
  readonly hookResumeDedup: boolean;
  /** a deployment id names one build for ever, so the SDK refuses messages for another */
  readonly deploymentAffinity?: boolean;
}

export interface World extends WorldStorage, FlatStreamer, WorldQueue {
  readonly streams: WorldStreams;
  readonly specVersion: number;
  readonly capabilities: WorldCapabilities;
  /** the SDK may end this process, because the queue delivers its message again */
  readonly processExitTriggersQueueRedelivery?: boolean;
  readonly streamFlushIntervalMs: number;
  getEncryptionKeyForRun(run: string | { readonly runId: string }): Promise<Uint8Array | undefined>;
  resolveLatestDeploymentId(): Promise<string>;
  getRuntimeDeadline(): Promise<Date | undefined>;
  start(): Promise<void>;
  close(): Promise<void>;
}
