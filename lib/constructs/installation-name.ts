import { Fn, Names, Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';

/** A name that begins with the stack's and is that of no other construct: for what AWS or a metric knows by its name alone. */
export const installationName = (construct: Construct, maxLength = 128): string =>
  Names.uniqueResourceName(construct, { separator: '-', allowedSpecialCharacters: '-', maxLength });

/** The UUID in the ARN of a stack: a stack that is created again under the same name has another one. */
const uuidLength = 36;

/**
 * A name for what a deletion keeps in use for a while, such as a group of schedules that is DELETING: it is that of this stack and
 * of no stack before it.
 */
export function uniquePerStackName(construct: Construct, maxLength: number): string {
  const uuid = Fn.select(2, Fn.split('/', Stack.of(construct).stackId));
  return `${installationName(construct, maxLength - uuidLength - 1)}-${uuid}`;
}
