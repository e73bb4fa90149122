/** The examples of code workflows: what their files export, and each run of `runs.json`, played by the testing kit. */
import { readFileSync, readdirSync } from 'node:fs';
import * as z from 'zod';
import { RunError, WorkflowTest } from '../../lib/testing/index.ts';
import { isWorkflow } from '../../lib/testing/workflow-fixture.ts';

const folder = new URL('../../examples/code-workflows/', import.meta.url);
const runsShape = z.array(
  z.strictObject({
    workflow: z.string(),
    input: z.unknown(),
    signals: z.array(z.strictObject({ name: z.string(), correlation: z.string(), payload: z.unknown() })).default([]),
    output: z.unknown().optional(),
    error: z.looseObject({ code: z.string() }).optional(),
  }),
);

export const codeRuns = runsShape.parse(JSON.parse(readFileSync(new URL('runs.json', folder), 'utf8')));

/** All exports of the files that `defineWorkflow` has made. */
export const codeWorkflows = (
  await Promise.all(
    readdirSync(new URL('workflows/', folder)).map(async (file) => {
      const module: Readonly<Record<string, unknown>> = await import(new URL(`workflows/${file}`, folder).href);
      return Object.values(module).filter(isWorkflow);
    }),
  )
).flat();

/** One after another, in the order of the list: an approval may be sent by the run before the one that waits for it. */
export class CodeExamples {
  readonly #test = new WorkflowTest({ workflows: codeWorkflows });

  /** What became of it, in the words of `runs.json`. */
  async play({ workflow, input, signals }: (typeof codeRuns)[number]): Promise<object> {
    const found = codeWorkflows.find(({ spec }) => spec.name === workflow);
    if (found === undefined) throw new Error(`no file has a workflow ${workflow}`);
    const run = await this.#test.start<unknown, unknown, unknown>({ spec: found.spec }, input);
    for (const { name, correlation, payload } of signals)
      await this.#test.sendSignal({ signal: name, correlation, data: payload });
    try {
      return { workflow, output: await run.result() };
    } catch (error) {
      if (!(error instanceof RunError)) throw error;
      return { workflow, error: { code: error.code, message: error.message } };
    }
  }
}
