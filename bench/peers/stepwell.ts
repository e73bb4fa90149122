/** Stepwell on its embedded cloud, in this process. */
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { StepwellClient } from '../../lib/client/index.ts';
import { localKey } from '../../lib/local/local-credentials.ts';
import type { BenchCloud } from '../bench-cloud.ts';
import { deployCode } from '../code-workflows.ts';
import { type Engine, type Started, runPooled } from './engine.ts';
import { type Input, type ProgramName, nowMs, signalName } from './programs.ts';

const projectFolder = fileURLToPath(new URL('project', import.meta.url));
const endPollIntervalMs = 2;
/** Generous, because a machine with a hundred active runs responds slowly; a retried start is idempotent. */
const retryOptions = { timeoutMs: 30_000, retries: 5 } as const;
const pollMs = 50;

const resultShape = z.object({ sum: z.number(), at: z.array(z.number()) });

export async function startStepwell(bench: BenchCloud): Promise<Engine> {
  const { url } = bench.cloud;
  if (url === undefined) throw new Error('the template has no API');
  const apiKey = localKey(bench.cloud);
  await deployCode(url, apiKey, projectFolder);
  const client = new StepwellClient({ baseUrl: url, apiKey, ...retryOptions });

  async function untilEnded(runId: string): Promise<void> {
    while (!bench.hasEnded(runId)) await wait(endPollIntervalMs);
  }

  async function start(workflowName: ProgramName, input: Input): Promise<Started & { readonly runId: string }> {
    const { runId } = await client.trigger({ workflowName, input: { ...input } });
    return {
      runId,
      async result() {
        // A client elsewhere would not share the machine with its poll, so the poll begins when the run has ended.
        await untilEnded(runId);
        const run = await client.result(runId, { pollMs });
        if (run.status !== 'completed') throw new Error(`${workflowName} has ${run.status}: ${JSON.stringify(run)}`);
        return resultShape.parse(run.output);
      },
      async signal() {
        // A signal that arrives before the wait is stored.
        await client.sendSignal({ name: signalName, correlation: input.run });
      },
    };
  }

  return {
    name: 'stepwell, embedded cloud',
    persistence:
      'a table of an emulator of DynamoDB in another process (SQLite, each write synced), one conditional put for a step, over HTTP and through the check of permissions',
    start,
    async runAll(program, inputs, atOnce) {
      const beganAt = nowMs();
      const runs = await runPooled(inputs, atOnce, async (input) => {
        const run = await start(program, input);
        await untilEnded(run.runId);
        return run;
      });
      return { beganAt, results: await Promise.all(runs.map((run) => run.result())) };
    },
    stop: async () => undefined,
  };
}
