/** The format version of items. Items of another version are refused. */
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { number, numberAttribute } from './attributes.ts';

const current = 1;

export const itemVersion: AttributeValue = number(current);
export const itemVersionAttribute = numberAttribute.refine((version) => version === current, {
  error: (issue) => `the item has version ${String(issue.input)}, but this program reads only version ${current}`,
});
