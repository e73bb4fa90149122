/** Calls of the functions that execute jobs. */
import { InvokeCommand, type LambdaClient } from '@aws-sdk/client-lambda';
import { writeJobCall } from '../codec/job-calls.ts';
import type { JobCallResult, JobCalls, WorkJob } from '../ports/jobs.ts';
import { Unavailable } from '../ports/unavailable.ts';
import { callService } from './call-service.ts';

/** The names of the functions; undefined: no function executes these jobs */
export interface JobFunctionNames {
  readonly worker: string | undefined;
  readonly code: string | undefined;
}

export class JobFunctions implements JobCalls {
  readonly #client: Pick<LambdaClient, 'send'>;
  readonly #names: JobFunctionNames;

  /** @param client sends each request once: a second one could execute the job twice at the same time */
  constructor(client: Pick<LambdaClient, 'send'>, names: JobFunctionNames) {
    this.#client = client;
    this.#names = names;
  }

  async call(job: WorkJob, signal: AbortSignal): Promise<JobCallResult> {
    const FunctionName = job.kind === 'node' ? this.#names.worker : this.#names.code;
    if (FunctionName === undefined) return 'refused';
    const command = new InvokeCommand({ FunctionName, Payload: Buffer.from(writeJobCall(job)) });
    try {
      const output = await callService('the function of a job', () => this.#client.send(command, { abortSignal: signal }));
      return output.FunctionError === undefined ? 'ended' : 'unknown';
    } catch (error) {
      return wasRefused(error) ? 'refused' : 'unknown';
    }
  }
}

/** Lambda refused the request before the function began: it is throttled, or the request is not permitted. */
const wasRefused = (error: unknown): boolean =>
  !(error instanceof Unavailable) || (error.cause instanceof Error && error.cause.name === 'TooManyRequestsException');
