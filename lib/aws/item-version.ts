/** How an item is to be read; one of another version is refused rather than misread. */
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { number, numberAttribute } from './attributes.ts';

const current = 1;

export const itemVersion: AttributeValue = number(current);
export const itemVersionAttribute = numberAttribute.refine((version) => version === current, {
  error: (issue) => `the item has version ${String(issue.input)}, and this program reads version ${current}`,
});
