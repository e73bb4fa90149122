/** End node: ends its branch. Its output is the run's output or a part of it; its status completes or fails the run. */
import * as z from 'zod';
import { resolveTemplate } from '../../engine/graph/template.ts';
import { withinConfigPath } from '../../engine/graph/work-limits.ts';
import { inline } from '../../engine/json.ts';
import { type ConfigFinding, jsonValue, lookUpText } from '../config-values.ts';
import type { NodeShape } from '../node-type.ts';
import { graphDefaults } from '../settings.ts';

export const maxOutputs = 200;

/** An output: a template, or a JSON value as it is, whose strings may contain templates. */
const outputParameter = z
  .object({
    name: z.string().min(1).max(256),
    sourceVariable: lookUpText('; for a constant set value instead').optional(),
    value: jsonValue.optional(),
  })
  .transform(({ name, sourceVariable, value }, issues) => {
    if (sourceVariable !== undefined && value === undefined) return { name, key: 'sourceVariable', source: sourceVariable };
    if (value !== undefined && sourceVariable === undefined) return { name, key: 'value', source: value };
    const message =
      sourceVariable === undefined ? 'is missing: set it, or value for a constant' : 'must not be set together with value';
    issues.addIssue({ code: 'custom', path: ['sourceVariable'], message });
    return z.NEVER;
  });

const schema = z.object({
  status: z.enum(['success', 'error']).default('success'),
  endsRun: z.boolean().default(false),
  outputParameters: z.array(outputParameter).max(maxOutputs).default([]),
});

export const end: NodeShape<typeof schema> = {
  type: 'end',
  defaults: graphDefaults,
  announcesStart: false,
  schema,
  handles: () => [],
  endsRun: ({ endsRun }) => endsRun,
  check: ({ outputParameters }) =>
    outputParameters.flatMap(({ name }, index): ConfigFinding[] =>
      outputParameters.findIndex((other) => other.name === name) === index
        ? []
        : [{ code: 'config_invalid', path: ['outputParameters', index, 'name'], message: `${name} is already an output` }],
    ),
  decider:
    ({ status, outputParameters }) =>
    ({ context }) => ({
      kind: 'finished',
      output: inline(
        Object.fromEntries(
          outputParameters.map(({ name, key, source }, at) => [
            name,
            withinConfigPath('outputParameters', () =>
              withinConfigPath(at, () => withinConfigPath(key, () => resolveTemplate(source, context))),
            ),
          ]),
        ),
      ),
      handle: null,
      end: status,
    }),
};
