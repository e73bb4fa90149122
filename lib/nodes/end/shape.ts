/** End node: ends its branch. Its output is the run's output or a part of it; its status completes or fails the run. */
import * as z from 'zod';
import { resolveTemplate } from '../../engine/graph/template.ts';
import { withinConfigPath } from '../../engine/graph/work-limits.ts';
import { inline } from '../../engine/json.ts';
import { type ConfigFinding, lookUpText } from '../config-values.ts';
import type { NodeShape } from '../node-type.ts';
import { graphDefaults } from '../settings.ts';

export const maxOutputs = 200;

const schema = z.object({
  status: z.enum(['success', 'error']).default('success'),
  endsRun: z.boolean().default(false),
  outputParameters: z
    .array(z.object({ name: z.string().min(1).max(256), sourceVariable: lookUpText }))
    .max(maxOutputs)
    .default([]),
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
          outputParameters.map(({ name, sourceVariable }, at) => [
            name,
            withinConfigPath('outputParameters', () =>
              withinConfigPath(at, () => withinConfigPath('sourceVariable', () => resolveTemplate(sourceVariable, context))),
            ),
          ]),
        ),
      ),
      handle: null,
      end: status,
    }),
};
