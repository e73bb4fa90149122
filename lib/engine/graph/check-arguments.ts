/** Checks the declared arguments. */
import { matchesArgumentType } from './validate-input.ts';
import type { ArgumentDeclaration, Finding } from './definition.ts';
import { finding, jsonPointer } from './findings.ts';

export const checkArguments = (declarations: readonly ArgumentDeclaration[]): readonly Finding[] =>
  declarations.flatMap(({ name, type, default: defaultValue }, index) => [
    ...(declarations.findIndex((other) => other.name === name) < index
      ? [finding('argument_invalid', jsonPointer('options', 'args', index, 'name'), `the argument ${name} is declared twice`)]
      : []),
    ...(defaultValue !== undefined && !matchesArgumentType(type, defaultValue)
      ? [
          finding(
            'argument_invalid',
            jsonPointer('options', 'args', index, 'default'),
            `the default of ${name} is not of the type ${type}`,
          ),
        ]
      : []),
  ]);
