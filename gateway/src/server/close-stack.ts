interface Closable {
  close(): unknown;
}

/** Closes what was opened, last first. One failure does not keep the others from closing. */
export function closeStack() {
  const opened: Closable[] = [];
  return {
    add<Resource extends Closable>(resource: Resource): Resource {
      opened.push(resource);
      return resource;
    },
    async close(): Promise<void> {
      const failures: unknown[] = [];
      for (const resource of opened.splice(0).reverse()) {
        await Promise.resolve()
          .then(() => resource.close())
          .catch((error: unknown) => failures.push(error));
      }
      if (failures.length > 0) throw failures[0];
    },
  };
}

export type CloseStack = ReturnType<typeof closeStack>;
