/** Who wants to know what was asked of the cloud: the bill counts from it, tests look at it. */

export interface RecordedCall {
  /** the function that asked; 'pollers' for what event sources ask on a function's behalf; 'schedules' for the scheduler */
  readonly caller: string;
  /** `dynamodb`, `sqs`, `s3`, `scheduler`, `events`, `lambda`, `apigateway` */
  readonly service: string;
  readonly operation: string;
  /** the parsed request where the service speaks JSON */
  readonly input: unknown;
  readonly requestBytes: number;
  readonly status: number;
  /** the raw response; parsed only by those who need it */
  readonly response: Buffer;
  readonly tookMs: number;
}

type CallListener = (call: RecordedCall) => void;

export interface Recorder {
  record(call: RecordedCall): void;
  /** Hears every call from now on; answers how to stop. */
  listen(listener: CallListener): () => void;
}

export function createRecorder(): Recorder {
  const listeners = new Set<CallListener>();
  return {
    record(call) {
      for (const listener of listeners) listener(call);
    },
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
