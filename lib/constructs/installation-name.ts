import { Fn, Names, Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';

/** A unique name that begins with the stack's name, for resources that AWS or a metric identifies by name only. */
export const installationName = (construct: Construct, maxLength = 128): string =>
  Names.uniqueResourceName(construct, { separator: '-', allowedSpecialCharacters: '-', maxLength });

/** The UUID in the stack's ARN. A stack that is created again under the same name gets a new one. */
const uuidLength = 36;

/**
 * A name that no earlier stack of the same name used. For resources whose names stay in use after their deletion, such as a schedule
 * group in the state DELETING.
 */
export function uniquePerStackName(construct: Construct, maxLength: number): string {
  const uuid = Fn.select(2, Fn.split('/', Stack.of(construct).stackId));
  return `${installationName(construct, maxLength - uuidLength - 1)}-${uuid}`;
}
