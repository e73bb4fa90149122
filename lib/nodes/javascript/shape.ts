/**
 * JavaScript node: runs a script, which is the body of a synchronous function over `ctx` and `inputs`. Its return value is the output.
 * `Date` and `Math.random` are available: a retry gets other values, but a recorded result never changes.
 */
import * as z from 'zod';
import { errorHandle, mainHandle } from '../../engine/graph/outcome.ts';
import type { NodeShape } from '../node-type.ts';
import { graphDefaults } from '../settings.ts';
import { scriptSyntaxError } from './syntax.ts';

/** In characters. Longer code belongs in a code workflow. */
export const maxCodeLength = 262_144;

const schema = z.object({
  code: z
    .string()
    .max(maxCodeLength)
    .refine((code) => code.trim() !== '', 'a script node needs code'),
});

export const javascript: NodeShape<typeof schema> = {
  type: 'javascript',
  defaults: { ...graphDefaults, outputVariable: 'jsResult', isIdempotent: true },
  announcesStart: false,
  schema,
  literalKeys: ['code'],
  code: ({ code }) => [{ path: ['code'], code }],
  handles: () => [mainHandle, errorHandle],
  check: ({ code }) => {
    const error = scriptSyntaxError(code);
    return error === undefined ? [] : [{ code: 'code_invalid', path: ['code'], message: error }];
  },
};
