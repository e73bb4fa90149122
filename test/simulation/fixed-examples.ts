/**
 * The graph examples as fixed workflows. Their own node types run, with a model that derives its answer from the prompt.
 * Examples that need an external service or a database are left out. A sandbox takes real time and no virtual time.
 */
import * as z from 'zod';
import { createLensBody } from '../../lib/api/schemas/lenses.ts';
import { createWorkflowBody } from '../../lib/api/schemas/workflows.ts';
import { ConfiguredModels } from '../../lib/models/configured-models.ts';
import { DeterministicModel } from '../../lib/models/deterministic-model.ts';
import { WordModeration } from '../../lib/models/moderation.ts';
import { inspectNode } from '../../lib/nodes/catalogue.ts';
import { createAttemptRunner } from '../../lib/nodes/attempt-runner.ts';
import { createRunners } from '../../lib/nodes/runners.ts';
import type { RunAttempt } from '../../lib/service/commit/plans.ts';
import { createLens } from '../../lib/service/definitions/publish-lens.ts';
import { createWorkflow } from '../../lib/service/definitions/publish-workflow.ts';
import { example, exampleNames } from '../docs/run-example.ts';
import type { FixedWorkflow } from './crash-run.ts';
import { productTypes } from './fixed-topologies.ts';
import { scriptedScope } from './scripted.ts';

const needANetwork: ReadonlySet<string> = new Set(['http', 'dataQuery']);

/** The result of a node for its input, cached so that a crash does not compute it again. */
const known = new Map<string, Awaited<ReturnType<RunAttempt>>>();

const signalShape = z.strictObject({ name: z.string(), correlation: z.string(), payload: z.json() });

export const fixedExamples: readonly FixedWorkflow[] = exampleNames
  .map((name) => example(name))
  .filter(({ workflow }) => !workflow.nodes.some(({ type }) => needANetwork.has(type)))
  .map(({ name, workflow, others, lenses, input, signals }) => {
    const drawn = createWorkflowBody.parse(workflow);
    return {
      name,
      workflow: name,
      input: z.record(z.string(), z.json()).parse(input),
      types: productTypes,
      ...(others.length === 0 ? { limits: drawn.options } : {}),
      publish: async (deps) => {
        for (const body of [drawn, ...others.map((other) => createWorkflowBody.parse(other))]) {
          const answer = await createWorkflow(deps, scriptedScope, body, inspectNode);
          if (answer.kind !== 'published') throw new Error(JSON.stringify(answer));
        }
        for (const lens of lenses) await createLens(deps, scriptedScope, createLensBody.parse(lens));
      },
      outside: async ({ start, settle, send }) => {
        await start();
        await settle();
        for (const { name: signal, correlation, payload } of signals.map((each) => signalShape.parse(each)))
          await send(signal, payload, { correlation });
      },
      attempts: (_process, deps, _outside, { around }) => {
        const models = new ConfiguredModels(
          async () => ({ default: { provider: 'deterministic' } }),
          async () => new DeterministicModel({ sleep: async () => {} }),
          deps.clock,
        );
        const lens = { lenses: deps.lenses, models, moderation: new WordModeration(['forbidden']) };
        const run = createAttemptRunner(createRunners({ lens }));
        return async (node, given, attempt) => {
          // A lens reads its store, which is reached as everything is: by a port call in virtual time.
          if (node.type === 'lens') return run(node, given, attempt);
          const key = JSON.stringify([name, node.id, given.iteration, given.inputs]);
          const before = known.get(key);
          if (before !== undefined) return before;
          const result = await around.time.hold(run(node, given, attempt));
          known.set(key, result);
          return result;
        };
      },
    };
  });
