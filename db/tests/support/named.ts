/** "a" => $1, "b" => $2 …: the values of these arguments, in their order, by name. */
export const named = (args: object, first = 1) =>
  Object.keys(args)
    .map((name, place) => `"${name}" => $${place + first}`)
    .join(', ');
