/** The handle of a started run. */
import type { StepwellClient } from '../client/index.ts';
import type { Stored } from '../sdk/stored.ts';

/** 5 minutes */
const defaultTimeoutMs = 300_000;

export interface WorkflowRunResultOptions {
  /** 300,000 */
  readonly timeoutMs?: number;
}

export class WorkflowRunHandle<Output> {
  readonly workflowRun: { readonly id: string; readonly workflowName: string; readonly version: string | null };
  readonly #client: StepwellClient;

  constructor(client: StepwellClient, workflowRun: WorkflowRunHandle<Output>['workflowRun']) {
    this.#client = client;
    this.workflowRun = workflowRun;
  }

  /** @throws Error where the run failed, was cancelled, or has not ended in time */
  async result({ timeoutMs = defaultTimeoutMs }: WorkflowRunResultOptions = {}): Promise<Stored<Output>> {
    const { id, workflowName } = this.workflowRun;
    const run = await this.#client.result(id, { timeoutMs }).catch((error: unknown) => {
      if (!isTimeout(error)) throw error;
      throw new Error(`Timed out waiting for workflow run ${id} to finish`, { cause: error });
    });
    switch (run.status) {
      case 'completed':
        // The output has the workflow's declared type, and was stored as JSON.
        return (run.output ?? null) as Stored<Output>;
      case 'failed':
        throw new Error(`Workflow ${workflowName} failed: ${JSON.stringify(run.error ?? null)}`);
      case 'cancelled':
        throw new Error(`Workflow ${workflowName} was canceled`);
    }
  }

  async cancel(): Promise<void> {
    await this.#client.cancelRun(this.workflowRun.id);
  }
}

const isTimeout = (error: unknown): boolean =>
  error instanceof Error &&
  '_tag' in error &&
  error._tag === 'TransportComputeClientError' &&
  'kind' in error &&
  error.kind === 'timeout';
