import { Stack, Validations } from 'aws-cdk-lib';
import { flattenCfnReference } from 'cdk-nag/lib/utils/flatten-cfn-reference.js';
import type { Construct } from 'constructs';

/** Acknowledges, with a reason, that a role of this construct may access `resource`, which ends in `*`. */
export function acknowledgeWildcard(construct: Construct, resource: string, reason: string): void {
  const finding = flattenCfnReference(Stack.of(construct).resolve(resource));
  Validations.of(construct).acknowledge({ id: `AwsSolutions-IAM5[Resource::${finding}]`, reason });
}

/**
 * The attribute of a resource in another stack: the name of its export. CDK tokens resolve to it only at the end of the synthesis,
 * but an acknowledgement needs it earlier.
 */
export function crossStackValue(consumer: Construct, owner: Construct, attribute: string): string {
  const ownerStack = Stack.of(owner);
  return ownerStack === Stack.of(consumer) ? attribute : ownerStack.exportValue(attribute);
}
