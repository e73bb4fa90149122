/**
 * Runs a script: the body of a function over `ctx` and `inputs`, without a wait, and what it returns is the node's
 * output. `Date` and `Math.random` are there; an attempt that is repeated gets other values from them, a result that
 * was recorded never changes.
 */
import * as z from 'zod';
import { errorHandle, mainHandle } from '../../engine/graph/outcome.ts';
import type { NodeShape } from '../node-type.ts';
import { graphDefaults } from '../settings.ts';
import { scriptSyntaxError } from './syntax.ts';

/** In characters. Twice what a definition's largest inline item holds; code beyond it belongs into a code workflow. */
const maxCodeLength = 262_144;

const schema = z.object({
  code: z
    .string()
    .max(maxCodeLength)
    .refine((code) => code.trim() !== '', 'a script node needs code'),
});

export const javascript: NodeShape<typeof schema> = {
  type: 'javascript',
  defaults: { ...graphDefaults, outputVariable: 'jsResult' },
  announcesStart: false,
  schema,
  literalKeys: ['code'],
  handles: () => [mainHandle, errorHandle],
  check: ({ code }) => {
    const error = scriptSyntaxError(code);
    return error === undefined ? [] : [{ code: 'code_invalid', path: ['code'], message: error }];
  },
};
