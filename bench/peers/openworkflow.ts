/** The published `openworkflow` on a SQLite file, client and worker in this process. */
import { join } from 'node:path';
import { OpenWorkflow } from 'openworkflow';
import { BackendSqlite } from 'openworkflow/sqlite';
import type { Engine, Started } from './engine.ts';
import { type Input, type ProgramName, type Result, type Steps, programNames, programs, signalName } from './programs.ts';

/** Default concurrency of the worker. */
const idleConcurrency = 10;

type Arguments = Parameters<Parameters<OpenWorkflow['defineWorkflow']>[1]>[0];

const stampSpec = { name: 'stamp' };
const signalOf = (run: string): string => `${signalName}:${run}`;

const stepsOf = (step: Arguments['step'], run: string): Steps => ({
  run: (name, stepFunction) => step.run({ name }, stepFunction),
  child: () => step.runWorkflow<Input, Result>(stampSpec, { run: `${run}-child`, steps: 1, every: 1 }),
  signal: async () => void (await step.waitForSignal({ signal: signalOf(run) })),
});

export async function startOpenWorkflow(directory: string): Promise<Engine> {
  const backend = BackendSqlite.connect(join(directory, 'openworkflow.sqlite'));
  const client = new OpenWorkflow({ backend });
  const defined = new Map(
    programNames.map((name) => [
      name,
      client.defineWorkflow<Input, Result>({ name }, ({ input, step }) => programs[name](stepsOf(step, input.run), input)),
    ]),
  );
  const accept = async (program: ProgramName, input: Input): Promise<Started> => {
    const handle = await defined.get(program)?.run(input);
    if (handle === undefined) throw new Error(`openworkflow has no program ${program}`);
    return {
      result: () => handle.result(),
      async signal() {
        const { workflowRunIds } = await client.sendSignal({ signal: signalOf(input.run), data: null });
        if (workflowRunIds.length !== 1) throw new Error(`${workflowRunIds.length} runs of openworkflow waited for the signal`);
      },
    };
  };

  let worker = client.newWorker({ concurrency: idleConcurrency });
  await worker.start();
  return {
    name: 'openworkflow, SQLite',
    persistence:
      'a file of SQLite (WAL, each write synced) in this process, two writes for a step; a worker in this process polls it',
    start: accept,
    // The worker is fastest if all runs exist before it starts: it polls without a delay while it finds runs.
    async runAll(program, inputs, atOnce) {
      await worker.stop();
      const runs: Started[] = [];
      for (const input of inputs) runs.push(await accept(program, input));
      worker = client.newWorker({ concurrency: atOnce });
      const beganAt = performance.timeOrigin + performance.now();
      await worker.start();
      const results = await Promise.all(runs.map((run) => run.result()));
      await worker.stop();
      worker = client.newWorker({ concurrency: idleConcurrency });
      await worker.start();
      return { beganAt, results };
    },
    async stop() {
      await worker.stop();
      await backend.stop();
    },
  };
}
