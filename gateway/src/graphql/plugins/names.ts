// Names lists `memories` instead of `allMemories`, and lists without pages without the suffix List.
export const namesPlugin: GraphileConfig.Plugin = {
  name: 'NamesPlugin',
  version: '1.0.0',
  inflection: {
    replace: {
      _allRows(_previous, _options, resource) {
        return this.camelCase(this.pluralize(this._singularizedResourceName(resource)));
      },
      allRowsList(_previous, _options, resource) {
        return this._allRows(resource);
      },
      customQueryListField(_previous, _options, details) {
        return this.customQueryField(details);
      },
    },
  },
};
