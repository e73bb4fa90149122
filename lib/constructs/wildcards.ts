import { Stack, Validations } from 'aws-cdk-lib';
import { flattenCfnReference } from 'cdk-nag/lib/utils/flatten-cfn-reference.js';
import type { Construct } from 'constructs';

/** Acknowledges that a role of this construct may act on all of `resource`, which ends in `*`, and says why. */
export function acknowledgeWildcard(construct: Construct, resource: string, reason: string): void {
  const finding = flattenCfnReference(Stack.of(construct).resolve(resource));
  Validations.of(construct).acknowledge({ id: `AwsSolutions-IAM5[Resource::${finding}]`, reason });
}

/**
 * A resource's attribute as a construct of another stack sees it: the name of the export. The tokens of the CDK turn into
 * it only at the end of the synthesis, and an acknowledgement must name it before.
 */
export function crossStackValue(consumer: Construct, owner: Construct, attribute: string): string {
  const ownerStack = Stack.of(owner);
  return ownerStack === Stack.of(consumer) ? attribute : ownerStack.exportValue(attribute);
}
