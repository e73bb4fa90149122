/** Loop node: runs its body, the nodes behind its handle `loop`, once per item, and continues at `done` with the results. */
import * as z from 'zod';
import { bodyHandle, completedHandle, doneHandle } from '../../engine/graph/outcome.ts';
import { loopLimits } from '../../engine/graph/loop-values.ts';
import { type Outcome, errorHandle } from '../../engine/graph/outcome.ts';
import { shownInput } from '../../engine/graph/shown-values.ts';
import { resolveTemplate } from '../../engine/graph/template.ts';
import { type JsonValue, inline, isJsonArray } from '../../engine/json.ts';
import { itemFailurePolicies } from '../../engine/log/events.ts';
import { durationMs } from '../../engine/time.ts';
import type { ConfigFinding } from '../config-values.ts';
import type { NodeShape } from '../node-type.ts';
import { graphDefaults } from '../settings.ts';

export const maxItemDelayMs = 60_000;
export const defaultMaxIterations = 1_000;
export const defaultIterationsAtOnce = 1;

const variable = z
  .string()
  .max(128)
  .regex(/^[a-zA-Z_][a-zA-Z0-9_]*$/, 'must be a name: letters, digits and _, not starting with a digit');

const schema = z.object({
  sourceVariable: z
    .string()
    .max(65_536)
    .regex(/^\{\{[^{}]*\}\}$/, 'must be a single template, such as {{ctx.input.orders}}'),
  itemVariable: variable.default('item'),
  indexVariable: variable.default('index'),
  maxIterations: z.int().min(1).max(loopLimits.items).default(defaultMaxIterations),
  delayBetweenItems: z.int().min(0).max(maxItemDelayMs).default(0),
  concurrency: z.int().min(1).max(loopLimits.concurrency).default(defaultIterationsAtOnce),
  onItemFailure: z.enum(itemFailurePolicies).default('fail'),
});
type Config = z.output<typeof schema>;

export const loop: NodeShape<typeof schema> = {
  type: 'loop',
  defaults: { ...graphDefaults, outputVariable: 'loopResults' },
  announcesStart: false,
  isLoop: true,
  schema,
  handles: () => [bodyHandle, doneHandle, completedHandle, errorHandle],
  check: ({ itemVariable, indexVariable }) => [
    ...[{ itemVariable }, { indexVariable }].flatMap(reservedName),
    ...(itemVariable === indexVariable
      ? [
          {
            code: 'config_invalid' as const,
            path: ['indexVariable'],
            message: `${indexVariable} is already the itemVariable`,
          },
        ]
      : []),
  ],
  variables: ({ itemVariable, indexVariable }) => [itemVariable, indexVariable],
  decider: (config) => (input) => expand(config, resolveTemplate(config.sourceVariable, input.context)),
};

/** Null means no items; any other value that is not an array is one item. */
function expand(config: Config, source: JsonValue): Outcome {
  const items = source === null ? [] : isJsonArray(source) ? source : [source];
  const { itemVariable, indexVariable, concurrency, onItemFailure, maxIterations, delayBetweenItems } = config;
  if (items.length > maxIterations) {
    const message = `the loop has ${items.length} items, more than its limit of ${maxIterations} (maxIterations)`;
    const details = { input: { source: shownInput(source), items: items.length } };
    return { kind: 'failed', failure: { cause: 'invalid', code: 'loop_too_many_items', message, details } };
  }
  const terms = { itemVariable, indexVariable, concurrency, onItemFailure, delayMs: durationMs(delayBetweenItems) };
  return { kind: 'expanding', ...terms, items: inline(items) };
}

const reservedName = (named: Readonly<Record<string, string>>): readonly ConfigFinding[] =>
  Object.entries(named).flatMap(([key, name]) =>
    name === 'input' || name === 'output' || name.startsWith('__')
      ? [{ code: 'reserved_name', path: [key], message: `the name ${name} is reserved` }]
      : [],
  );
