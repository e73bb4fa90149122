/**
 * Event patterns of EventBridge, compiled to a test of events. npm has no maintained implementation, so this one follows the documentation
 * and the published matcher of EventBridge (https://github.com/aws/event-ruler), in which arrays have no level of their own: a field whose
 * value is an array matches if one element matches, and all fields of one nested pattern must be in the same element.
 */
import { compileValue, type Existence, isRecord, operatorNames, PatternError, type ValueTest } from './pattern-values.ts';

/** EventBridge's quota for the pattern of a rule, in characters. */
const maxPatternCharacters = 2_048;

/** Tests a part of the event at the place of the compiled pattern. `event` is the whole event. */
type PartTest = (part: unknown, event: unknown) => boolean;

type Fields = Readonly<Record<string, unknown>>;
const noFields: Fields = {};

/** The elements of nested arrays in one list. */
const flat = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value.flat(Infinity) : [value]);

/** The objects at a place of the event; without one, an object without fields, in which every field is absent. */
function objectsIn(part: unknown): readonly Fields[] {
  const objects = flat(part).filter(isRecord);
  return objects.length === 0 ? [noFields] : objects;
}

/** The text, numbers, booleans and nulls at a place of the event. Objects are no values. */
const valuesIn = (part: unknown): readonly unknown[] => flat(part).filter((value) => value !== undefined && !isRecord(value));

const fieldOf = (fields: Fields, name: string): unknown => (Object.hasOwn(fields, name) ? fields[name] : undefined);

/** Whether any object of the event has a value at the path, also in another element of an array. */
const hasValueAt = (part: unknown, [name, ...rest]: readonly string[]): boolean =>
  name === undefined ? valuesIn(part).length > 0 : objectsIn(part).some((fields) => hasValueAt(fieldOf(fields, name), rest));

/** A field's list: one of its elements must match one of the field's values. */
function compileField(elements: readonly unknown[], path: readonly string[]): PartTest {
  if (elements.length === 0) throw new PatternError(`${path.join('.')}: Empty arrays are not allowed`);
  const compiled = elements.map((element): ValueTest | Existence => {
    try {
      return compileValue(element);
    } catch (error) {
      throw error instanceof PatternError ? new PatternError(`${path.join('.')}: ${error.message}`) : error;
    }
  });
  return (part, event) => {
    const values = valuesIn(part);
    return compiled.some((test) => {
      if (test === 'exists') return values.length > 0;
      if (test === 'absent') return !hasValueAt(event, path);
      return values.some(test);
    });
  };
}

/** `$or`: one of the branches must match. Their fields are fields of the object that contains the `$or`. */
function compileOr(branches: unknown, path: readonly string[]): PartTest {
  if (!Array.isArray(branches)) throw new PatternError('It must be an Array followed with $or.');
  if (branches.length < 2) throw new PatternError('There must have at least 2 Objects in $or relationship.');
  const tests = branches.map((branch: unknown) => {
    if (!isRecord(branch)) throw new PatternError('Only JSON object is allowed in array of $or relationship.');
    return compileObject(branch, path, true);
  });
  return (part, event) => tests.some((test) => test(part, event));
}

function compileObject(pattern: Fields, path: readonly string[], isInOr = false): PartTest {
  const entries = Object.entries(pattern);
  if (entries.length === 0) throw new PatternError(`${path.join('.') || 'the pattern'}: Empty objects are not allowed`);
  const tests = entries.map(([name, inner]): ((fields: Fields, event: unknown) => boolean) => {
    if (name === '$or') return compileOr(inner, path);
    if (isInOr && operatorNames.has(name))
      throw new PatternError(`${name} is a reserved field name which cannot be used inside $or.`);
    const place = [...path, name];
    if (!Array.isArray(inner) && !isRecord(inner)) throw new PatternError(`"${place.join('.')}" must be an object or an array`);
    const test = Array.isArray(inner) ? compileField(inner, place) : compileObject(inner, place, isInOr);
    return (fields, event) => test(fieldOf(fields, name), event);
  });
  return (part, event) => objectsIn(part).some((fields) => tests.every((test) => test(fields, event)));
}

/** @throws PatternError where EventBridge refuses the pattern */
export function compilePattern(pattern: unknown): (event: unknown) => boolean {
  if (!isRecord(pattern)) throw new PatternError('Filter is not an object');
  const { length } = JSON.stringify(pattern);
  if (length > maxPatternCharacters)
    throw new PatternError(`it has ${length} characters, and the quota is ${maxPatternCharacters}`);
  const test = compileObject(pattern, []);
  return (event) => test(event, event);
}
