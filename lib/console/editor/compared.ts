/** A definition as JSON, in the form that the comparison takes. */
import { type JsonObject, type JsonValue, isJsonArray, isJsonObject } from '../../engine/json.ts';
import type { ComparedDefinition } from '../workflows/definition-diff.ts';

const objectsIn = (value: JsonValue | undefined): readonly JsonObject[] =>
  isJsonArray(value) ? value.filter((each) => isJsonObject(each)) : [];

export const comparedOf = ({ nodes, edges, options }: JsonObject): ComparedDefinition => ({
  nodes: objectsIn(nodes),
  edges: objectsIn(edges),
  options: isJsonObject(options) ? options : {},
});
