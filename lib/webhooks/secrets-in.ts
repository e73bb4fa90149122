/** The signing secrets in a stored text: one text, or several during a rotation, as a JSON list of texts. */

/** Empty where the text contains no secret. */
export function secretsIn(text: string): readonly string[] {
  const trimmed = text.trim();
  const list = trimmed.startsWith('[') ? listIn(trimmed) : undefined;
  return (list ?? [trimmed]).filter((secret) => secret !== '');
}

function listIn(text: string): readonly string[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) && value.every((one) => typeof one === 'string') ? value : undefined;
  } catch {
    return undefined;
  }
}
