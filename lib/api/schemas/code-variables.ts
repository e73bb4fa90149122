/** The setting `codeVariables`: environment variables for deployed code. They must not contain secrets. */
import * as z from 'zod';

/** Names that the product or Lambda reserves. */
const reservedNamePattern = /^(AWS|STEPWELL|LAMBDA)_|^_|^(NODE_OPTIONS|TMPDIR|PATH|HOME)$/;

const name = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'must be the name of a variable')
  .refine((text) => !reservedNamePattern.test(text), 'is a reserved name');

export const codeVariables = z.record(name, z.string());
