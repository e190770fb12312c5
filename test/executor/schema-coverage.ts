/** Which keys of a JSON Schema a document uses: the measure of how complete a set of examples is. */

interface Schema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly definitions?: Readonly<Record<string, Schema>>;
}

const prefix = '#/definitions/';

/** `DEFINITION.KEY` for every property that the schema names. */
export function keysOf(root: object): readonly string[] {
  const { definitions = {} } = root as Schema;
  const keys: string[] = [];
  const visit = (name: string, schema: Schema): void => {
    for (const [key, inner] of Object.entries(schema.properties ?? {})) {
      keys.push(`${name}.${key}`);
      visit(`${name}.${key}`, inner);
    }
    if (schema.items !== undefined) visit(name, schema.items);
    for (const branch of [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]) visit(name, branch);
  };
  visit('pipeline', { ...(root as Schema) });
  for (const [name, schema] of Object.entries(definitions)) visit(name, schema);
  return keys;
}

/** Those of them that the value has. */
export function usedKeys(value: unknown, root: object): readonly string[] {
  const { definitions = {} } = root as Schema;
  const used: string[] = [];
  const visit = (inner: unknown, schema: Schema, name: string): void => {
    if (schema.$ref?.startsWith(prefix) === true) {
      const target = schema.$ref.slice(prefix.length);
      const definition = definitions[target];
      if (definition !== undefined) visit(inner, definition, target);
      return;
    }
    for (const branch of [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]) visit(inner, branch, name);
    if (Array.isArray(inner)) {
      if (schema.items !== undefined) for (const item of inner) visit(item, schema.items, name);
    } else if (typeof inner === 'object' && inner !== null) {
      for (const [key, member] of Object.entries(inner)) {
        const property = schema.properties?.[key];
        if (property !== undefined) {
          used.push(`${name}.${key}`);
          visit(member, property, `${name}.${key}`);
        } else if (typeof schema.additionalProperties === 'object') visit(member, schema.additionalProperties, name);
      }
    }
  };
  visit(value, root as Schema, 'pipeline');
  return used;
}
