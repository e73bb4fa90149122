/** Start node: starts the run. It has no settings; the workflow's options declare its arguments. */
import * as z from 'zod';
import { mainHandle } from '../../engine/graph/outcome.ts';
import { inline } from '../../engine/json.ts';
import type { NodeShape } from '../node-type.ts';
import { graphDefaults } from '../settings.ts';

const schema = z.object({});

export const start: NodeShape<typeof schema> = {
  type: 'start',
  defaults: graphDefaults,
  announcesStart: false,
  isTrigger: true,
  schema,
  handles: () => [mainHandle],
  decider: () => (input) => ({
    kind: 'finished',
    output: inline({ started: true, inputReceived: input.context.get('input') ?? null }),
    handle: mainHandle,
  }),
};
