/** The setting `codeVariables`: environment variables of the authors' own, for all code that is deployed. No place for a secret. */
import * as z from 'zod';

/** Names that the product or the platform gives a meaning of its own. */
const reservedNamePattern = /^(AWS|STEPWELL|LAMBDA)_|^_|^(NODE_OPTIONS|TMPDIR|PATH|HOME)$/;

const name = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'must be a name of a variable')
  .refine((text) => !reservedNamePattern.test(text), 'is a name that has a meaning already');

export const codeVariables = z.record(name, z.string());
